# guest_packages NAME PACKAGE…: unpacks what this machine lacks of Debian's packages into a folder, which it prints; a guest has it in memory. Nothing is
# installed. When it fails, it prints the reason.
guest_packages() {
    local folder package
    folder=$(realpath -m "${CARGO_TARGET_DIR:-target}/guest/$1")
    shift
    if [[ ! -e $folder/complete ]]; then
        rm -rf "$folder"
        mkdir -p "$folder/archives/partial" "$folder/root"
        command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || { echo "needs apt and dpkg, to unpack packages"; return 1; }
        apt-get -q -o "Dir::Cache::Archives=$folder/archives" -o APT::Sandbox::User=root install --yes --no-install-recommends --download-only \
            "$@" >"$folder/log" 2>&1 || { echo "packages cannot be downloaded: $(tail -n 1 "$folder/log")"; return 1; }
        for package in "$folder"/archives/*.deb; do [[ ! -e $package ]] || dpkg-deb -x "$package" "$folder/root"; done
        rm -rf "$folder/archives"
        touch "$folder/complete"
    fi
    echo "$folder/root"
}
