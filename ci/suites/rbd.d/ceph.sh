# shellcheck shell=bash
# A Ceph of one monitor and one store of objects in memory, without any service of the machine. Sourced by suites:
#   ceph_missing            prints the programs that are missing, after trying to install them
#   ceph_up [AUTH]          starts it, with authentication `cephx` or `none` (the default), in $folder, whose configuration CEPH_CONF names; image `rbd/img` of 256 MiB, `rbd/theirs` of 64 MiB
#   ceph_down               ends it
ceph_programs() { for tool in ceph-mon ceph-osd ceph ceph-authtool rados rbd monmaptool; do command -v "$tool" >/dev/null || echo "$tool"; done; }
ceph_missing() {
    if [[ -n $(ceph_programs) && -e /etc/debian_version ]]; then
        local packages=(ceph-mon ceph-osd ceph-common)
        export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
        install() { timeout 400 apt-get install -y --no-install-recommends "${packages[@]}"; }
        (install || { apt-get update && install; }) >/dev/null 2>&1 || true
    fi
    ceph_programs | tr '\n' ' '
}
ceph_down() {
    for name in osd.0 mon.a; do
        [[ -e $folder/run/$name.pid ]] && kill -9 "$(cat "$folder/run/$name.pid")" 2>/dev/null
    done
    sleep 0.5
}
ceph_up() {
    free() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
    local auth=${1:-none}
    one=$(free) two=$(free)
    fsid=$(cat /proc/sys/kernel/random/uuid) osd=$(cat /proc/sys/kernel/random/uuid)
    mkdir "$folder/run" "$folder/mon" "$folder/osd"
    cat >"$CEPH_CONF" <<CONF
[global]
fsid = $fsid
mon host = [v2:127.0.0.1:$one,v1:127.0.0.1:$two]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = $auth
auth service required = $auth
auth client required = $auth
keyring = $folder/keyring
run dir = $folder/run
log file = $folder/\$name.log
admin socket = $folder/run/\$name.asok
pid file = $folder/run/\$name.pid
mon data = $folder/mon
osd data = $folder/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd memory target = 939524096
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail crit = 1
ms bind ipv6 = false
[client]
admin socket =
log file =
CONF
    ceph-authtool --create-keyring "$folder/keyring" --gen-key -n mon. --cap mon 'allow *'
    ceph-authtool "$folder/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *'
    ceph-authtool "$folder/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
    monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$one,v1:127.0.0.1:$two]" "$folder/monmap"
    ceph-mon -i a --mkfs --monmap "$folder/monmap" --keyring "$folder/keyring"
    ceph-mon -i a
    timeout 60 ceph osd new "$osd"
    ceph-osd -i 0 --mkfs --osd-uuid "$osd"
    ceph-osd -i 0
    for _ in $(seq 300); do timeout 20 ceph osd stat | grep -q '1 up' && break; sleep 0.2; done
    timeout 60 ceph osd pool create rbd 8 8 replicated
    timeout 60 ceph osd pool application enable rbd rbd
    timeout 60 rbd create --size 256M rbd/img
    timeout 60 rbd create --size 64M rbd/theirs
}
