# Sourced by scripts in the guest: the kernel's NVMe target, set up through configfs.

nvmet=/sys/kernel/config/nvmet
[[ -d $nvmet ]] || mount -t configfs configfs /sys/kernel/config

# null_disk NAME BLOCK_BYTES [SETTING=VALUE…]: a disk of 64 MiB of memory; sets `block` to its path.
null_disk() {
    local item=/sys/kernel/config/nullb/$1 each before
    before=$(ls /dev)
    mkdir "$item"
    for each in size=64 memory_backed=1 "blocksize=$2" "${@:3}" power=1; do echo "${each#*=}" >"$item/${each%=*}"; done
    # By the item's name, or numbered, as the kernel's version has it.
    for _ in {1..50}; do
        for each in /dev/*; do
            if [[ -b $each && $'\n'$before$'\n' != *$'\n'"${each#/dev/}"$'\n'* ]]; then block=$each; return; fi
        done
        sleep 0.1
    done
    echo "no block device $1" >&2
    return 1
}

# subsystem NAME BLOCK: a subsystem with one namespace, for every host.
subsystem() {
    mkdir "$nvmet/subsystems/$1"
    echo 1 >"$nvmet/subsystems/$1/attr_allow_any_host"
    mkdir "$nvmet/subsystems/$1/namespaces/1"
    echo -n "$2" >"$nvmet/subsystems/$1/namespaces/1/device_path"
    echo 1 >"$nvmet/subsystems/$1/namespaces/1/enable"
}

# listener NUMBER TRANSPORT ADDRESS PORT SUBSYSTEM…: where subsystems are served.
listener() {
    local place=$nvmet/ports/$1 each
    mkdir "$place"
    echo ipv4 >"$place/addr_adrfam"
    echo "$2" >"$place/addr_trtype"
    echo "$3" >"$place/addr_traddr"
    echo "$4" >"$place/addr_trsvcid"
    for each in "${@:5}"; do ln -s "$nvmet/subsystems/$each" "$place/subsystems/$each"; done
}

# secret SUBSYSTEM HOST SECRET [OWN]: from now on the subsystem admits this host alone, which has to know the secret.
secret() {
    mkdir -p "$nvmet/hosts/$2"
    echo -n "$3" >"$nvmet/hosts/$2/dhchap_key"
    [[ -z ${4-} ]] || echo -n "$4" >"$nvmet/hosts/$2/dhchap_ctrl_key"
    echo 0 >"$nvmet/subsystems/$1/attr_allow_any_host"
    ln -s "$nvmet/hosts/$2" "$nvmet/subsystems/$1/allowed_hosts/$2"
}
