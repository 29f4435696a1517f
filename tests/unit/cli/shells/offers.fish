# fish --no-config offers.fish SCRIPT DIRECTORY LINE...: what fish offers at the end of each line. A line with the
# character 0x1e ends the offers of each.
source $argv[1]; or exit 1
cd $argv[2]; or exit 1
for line in $argv[3..-1]
    complete -C $line
    printf '\x1e\n'
end
