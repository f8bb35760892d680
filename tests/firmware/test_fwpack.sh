#!/bin/sh
# SPDX-License-Identifier: MIT
# fwpack: what it makes verifies, and no byte of it can be changed unnoticed.  Needs $O/firmware.
set -u
fwpack=$O/firmware/fwpack
elf=$O/firmware/npuedge-ne1.elf
image=$O/firmware/npuedge-ne1.fw
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
status=0

# expect STATUS NAME COMMAND...
expect() {
	want=$1 name=$2
	shift 2
	n=$((n + 1))
	"$@" >"$dir/out" 2>&1
	got=$?
	if [ $got -eq "$want" ] && { [ "$want" -eq 0 ] || [ -s "$dir/out" ]; }; then
		echo "ok $n - $name"
	else
		sed 's/^/# /' "$dir/out"
		echo "not ok $n - $name (status $got, expected $want)"
		status=1
	fi
}

# spoil OFFSET: the image with one bit of the byte changed
spoil() {
	cp "$image" "$dir/bad"
	byte=$(od -An -tu1 -j "$1" -N 1 "$image" | tr -d ' ')
	# shellcheck disable=SC2059
	printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$dir/bad" bs=1 seek="$1" conv=notrunc 2>/dev/null
}

echo "1..26"
expect 0 "the built image verifies" "$fwpack" verify "$image"
expect 0 "the built image verifies with dev.pub" "$fwpack" verify -p firmware/keys/dev.pub "$image"
expect 0 "info" "$fwpack" info "$image"
expect 0 "dev.pub belongs to dev.key" \
	sh -c "'$fwpack' pubkey firmware/keys/dev.key | cmp - firmware/keys/dev.pub"
expect 0 "packing twice gives the same image" sh -c "'$fwpack' pack -k firmware/keys/dev.key \
	-b same '$elf' '$dir/1' && '$fwpack' pack -k firmware/keys/dev.key -b same '$elf' '$dir/2' &&
	cmp '$dir/1' '$dir/2'"

# magic, header size, payload size, load, entry, memory, ABI, version, security, flags, build, hash,
# key id, reserved, signature, reserved, payload
for offset in 0 4 8 12 16 20 24 28 32 36 40 100 160 170 200 300 600; do
	spoil $offset
	expect 1 "a changed byte at $offset is found" "$fwpack" verify "$dir/bad"
done

head -c 700 "$image" >"$dir/short"
expect 1 "a truncated image is refused" "$fwpack" verify "$dir/short"
echo 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff >"$dir/other.key"
"$fwpack" pubkey "$dir/other.key" >"$dir/other.pub"
expect 1 "another key is refused" "$fwpack" verify -p "$dir/other.pub" "$image"
expect 1 "a file that is no ELF is refused" "$fwpack" pack -k firmware/keys/dev.key "$image" "$dir/out.fw"
expect 2 "wrong usage" "$fwpack" pack
exit $status
