# NFS-Ganesha for suites that source this, in the network of the caller: exports `exp` and, where root is nobody, `private`: folders of $folder.
# `ganesha_missing` names what is not installed, `ganesha_up` starts the port mapper ($mapper) and the server ($server), `start` the server alone,
# `ganesha_down` ends both, `where NAME [OPTIONS]` is the address of an export.
server='' mapper=''
ganesha_missing() {
    for tool in ganesha.nfsd rpcbind; do command -v "$tool" >/dev/null || echo "$tool"; done
    ls /usr/lib/*/libnfs.so.1[34] >/dev/null 2>&1 || echo libnfs
}
# Installs what is missing, on Debian.
ganesha_install() {
    [[ -n $(ganesha_missing) && -e /etc/debian_version ]] || return 0
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
    install() { timeout 200 apt-get install -y --no-install-recommends nfs-ganesha nfs-ganesha-vfs rpcbind libnfs13; }
    (install || { apt-get update && install; }) >/dev/null 2>&1 || true
}
ganesha_down() {
    # What ends by a signal says so to `wait`, which is no failure here.
    for one in $server $mapper; do { kill -CONT "$one"; kill -9 "$one"; wait "$one"; } 2>/dev/null || true; done
}
export_of() {
    echo "EXPORT { Export_Id = $1; Path = $2; Pseudo = $3; Access_Type = $4; Squash = $5; SecType = sys; Protocols = 3; Transports = TCP; FSAL { Name = VFS; } }"
}
start() {
    ganesha.nfsd -f "$folder/conf" -L "$folder/log" -p "$folder/pid" -F >/dev/null 2>&1 &
    server=$!
    for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/12050) 2>/dev/null && return; sleep 0.1; done
    return 1
}
ganesha_up() {
    ip link set lo up
    mkdir -p "$folder/exp" "$folder/private" "$folder/run"
    cat >"$folder/conf" <<CONF
NFS_CORE_PARAM { Protocols = 3; NFS_Port = 12049; MNT_Port = 12050; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; mount_path_pseudo = true; }
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = $folder/run; }
$(export_of 1 "$folder/exp" /exp RW No_Root_Squash)
$(export_of 2 "$folder/private" /private RW Root_Squash)
CONF
    rpcbind -f >/dev/null 2>&1 &
    mapper=$!
    start
}
where() { echo "nfs://127.0.0.1/$1?version=3&nfsport=12049&mountport=12050${2:-}"; }
