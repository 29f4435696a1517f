# fish --no-config offers.fish SCRIPT DIRECTORY LINE: what fish offers at the end of the line.
source $argv[1]; or exit 1
cd $argv[2]; or exit 1
complete -C $argv[3]
