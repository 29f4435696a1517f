# fish completion of sparkplan, made by: sparkplan completion fish

# The command is the first word that is neither an option nor the value of one.
function __sparkplan_command_is
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    set -l is_value 0
    for word in $words
        if test $is_value = 1
            set is_value 0
            continue
        end
        switch $word
            case -f --file --log-file --workers --timeout
                set is_value 1
            case '-*'
            case '*'
                set command $word
                break
        end
    end
    test "$command" = "$argv[1]"
end

# The nodes of the file that the command reads.
function __sparkplan_nodes
    set -l words (commandline -opc)
    set -l file
    set -l is_file 0
    for word in $words
        if test $is_file = 1
            set file -f $word
        end
        set is_file 0
        if contains -- $word -f --file
            set is_file 1
        end
    end
    command -sq $words[1]; or return
    $words[1] export --format ssh-config $file 2>/dev/null | string replace -rf '^Host (\S+).*' '$1'
end

# Saved plans, which their content shows: where the typed path leads, and below plans/.
function __sparkplan_saved_plans
    set -l typed (commandline -ct)
    set -l files $typed*
    if test "$typed" = (string sub -l (string length -- "$typed") plans)
        set -a files plans/*
    end
    for file in $files
        test -f $file; and test -r $file; or continue
        read -l -z -n 64 head <$file
        string match -q '*"sparkplan_plan"*' -- $head; and echo $file
    end
end

function __sparkplan_plans
    set -l plans (__sparkplan_saved_plans)
    if count $plans >/dev/null
        printf '%s\n' $plans
    else
        __fish_complete_path (commandline -ct)
    end
end

function __sparkplan_plans_and_files
    __sparkplan_saved_plans
    __fish_complete_path (commandline -ct)
end

complete -c sparkplan -f
complete -c sparkplan -s h -l help -d 'print this help'
complete -c sparkplan -l version -d 'print the version'
complete -c sparkplan -s f -l file -rF -d 'cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -s v -l verbose -d 'print each action on each node, and long values in full'
complete -c sparkplan -s q -l quiet -d 'print only what needs attention'
complete -c sparkplan -l no-color -d 'no colours (NO_COLOR in the environment does the same)'
complete -c sparkplan -l log-file -rF -d 'write the output of -v to PATH'
complete -c sparkplan -l workers -x -d 'number of nodes in parallel, 1 to 256 [16]'
complete -c sparkplan -l timeout -x -d 'how long to wait for a connection [10s]'
complete -c sparkplan -l ask-become-pass -d 'ask for the password that sudo needs on the nodes'
complete -c sparkplan -n "__sparkplan_command_is ''" -a init -d 'write a cluster.yaml that describes these machines as they are'
complete -c sparkplan -n "__sparkplan_command_is ''" -a validate -d 'check cluster.yaml; contacts no node'
complete -c sparkplan -n "__sparkplan_command_is ''" -a plan -d 'show what would change on each node, and why; changes nothing there'
complete -c sparkplan -n "__sparkplan_command_is ''" -a show -d 'show a saved plan; contacts no node'
complete -c sparkplan -n "__sparkplan_command_is ''" -a apply -d 'make the nodes match cluster.yaml, or apply a saved plan'
complete -c sparkplan -n "__sparkplan_command_is ''" -a drift -d 'find changes made on the nodes since the last apply; for cron'
complete -c sparkplan -n "__sparkplan_command_is ''" -a verify -d 'measure whether the cluster works, from the cable up to NCCL'
complete -c sparkplan -n "__sparkplan_command_is ''" -a doctor -d 'find known faults, with cause and fix'
complete -c sparkplan -n "__sparkplan_command_is ''" -a sync -d 'bring `models` and `images` to every node, over the fabric'
complete -c sparkplan -n "__sparkplan_command_is ''" -a history -d 'past runs, newest first'
complete -c sparkplan -n "__sparkplan_command_is ''" -a rollback -d 'undo the last run of most nodes, or of NODE; later edits stay'
complete -c sparkplan -n "__sparkplan_command_is ''" -a unlock -d 'show who holds a node\'s lock, and break it'
complete -c sparkplan -n "__sparkplan_command_is ''" -a release -d 'restore a node as it was before sparkplan, and remove it from the others'
complete -c sparkplan -n "__sparkplan_command_is ''" -a trust -d 'show a node\'s host key and record it in ~/.ssh/known_hosts'
complete -c sparkplan -n "__sparkplan_command_is ''" -a status -d 'state, software, fabric and past runs of all nodes'
complete -c sparkplan -n "__sparkplan_command_is ''" -a facts -d 'print everything that sparkplan reads from a node'
complete -c sparkplan -n "__sparkplan_command_is ''" -a export -d 'print the cluster for another tool; contacts no node'
complete -c sparkplan -n "__sparkplan_command_is ''" -a tune -d 'find settings of NCCL that are proven faster on this cluster'
complete -c sparkplan -n "__sparkplan_command_is ''" -a completion -d 'print a script that adds completion of sparkplan to a shell'
complete -c sparkplan -n "__sparkplan_command_is ''" -a help -d 'print the commands, or the arguments and flags of one'
complete -c sparkplan -n "__sparkplan_command_is ''" -a schema -d 'print the JSON Schema of cluster.yaml'
complete -c sparkplan -n "__sparkplan_command_is ''" -a types -d 'list the resource types'
complete -c sparkplan -n "__sparkplan_command_is ''" -a version -d 'print the version'
complete -c sparkplan -n "__sparkplan_command_is ''" -a exec -d 'run a command on all nodes at once, as the login user'
complete -c sparkplan -n "__sparkplan_command_is ''" -a run -d 'run one distributed job on all nodes, after a preflight'
complete -c sparkplan -n '__sparkplan_command_is init' -l discover -d 'find machines that announce SSH in this machine\'s networks'
complete -c sparkplan -n '__sparkplan_command_is init' -s o -l output -rF -d 'write PATH; - is standard output [where commands look for FILE]'
complete -c sparkplan -n '__sparkplan_command_is validate' -l json -d 'findings as JSON'
complete -c sparkplan -n '__sparkplan_command_is validate' -F
complete -c sparkplan -n '__sparkplan_command_is plan' -s o -l output -rF -d 'save the plan as PATH, for apply'
complete -c sparkplan -n '__sparkplan_command_is plan' -l json -d 'the plan as JSON'
complete -c sparkplan -n '__sparkplan_command_is plan' -l format -x -a 'text json markdown' -d 'one of text, json, markdown; markdown is for pull requests [text]'
complete -c sparkplan -n '__sparkplan_command_is plan' -l report -rF -d 'also write the result to PATH as an HTML page of one file'
complete -c sparkplan -n '__sparkplan_command_is plan' -l yes-prune -d 'contact nodes removed from the file, and show what is restored there'
complete -c sparkplan -n '__sparkplan_command_is plan' -l detailed-exitcode -d 'exit 2 if there are changes'
complete -c sparkplan -n '__sparkplan_command_is plan' -l only -x -a '(__sparkplan_nodes)' -d 'only what matches GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME'
complete -c sparkplan -n '__sparkplan_command_is plan' -l exclude -x -a '(__sparkplan_nodes)' -d 'everything except what matches GLOB'
complete -c sparkplan -n '__sparkplan_command_is plan' -F
complete -c sparkplan -n '__sparkplan_command_is show' -l json -d 'the plan as JSON'
complete -c sparkplan -n '__sparkplan_command_is show' -l signed-by -x -d 'refuse a plan that IDENTITY has not signed with ssh-keygen -Y sign'
complete -c sparkplan -n '__sparkplan_command_is show' -l allowed-signers -rF -d 'file that assigns keys to identities [~/.ssh/allowed_signers]'
complete -c sparkplan -n '__sparkplan_command_is show' -a '(__sparkplan_plans)' -d 'the file that plan -o has written'
complete -c sparkplan -n '__sparkplan_command_is apply' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is apply' -l yes-prune -d 'restore nodes removed from the file; permit a prune of most resources'
complete -c sparkplan -n '__sparkplan_command_is apply' -l all-or-nothing -d 'change no node if one cannot be reached or planned'
complete -c sparkplan -n '__sparkplan_command_is apply' -l confirm-timeout -x -d 'roll back if the node is unreachable after DURATION; 5s to 30m [90s]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l allow-mgmt-change -d 'also change the interface that carries the connection'
complete -c sparkplan -n '__sparkplan_command_is apply' -l no-safety-net -d 'make disruptive changes without automatic rollback'
complete -c sparkplan -n '__sparkplan_command_is apply' -l ignore-jobs -d 'also make disruptive changes on nodes where a job is running'
complete -c sparkplan -n '__sparkplan_command_is apply' -l max-parallel -x -d 'after the first node, change the network of at most N nodes at once [all]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l lock-timeout -x -d 'how long to wait for another run\'s locks [0s]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l signed-by -x -d 'refuse a plan that IDENTITY has not signed with ssh-keygen -Y sign'
complete -c sparkplan -n '__sparkplan_command_is apply' -l allowed-signers -rF -d 'file that assigns keys to identities [~/.ssh/allowed_signers]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l verify -d 'after success, run the checks of `verify`'
complete -c sparkplan -n '__sparkplan_command_is apply' -l json -d 'the outcome as JSON'
complete -c sparkplan -n '__sparkplan_command_is apply' -l only -x -a '(__sparkplan_nodes)' -d 'only what matches GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME'
complete -c sparkplan -n '__sparkplan_command_is apply' -l exclude -x -a '(__sparkplan_nodes)' -d 'everything except what matches GLOB'
complete -c sparkplan -n '__sparkplan_command_is apply' -a '(__sparkplan_plans_and_files)' -d 'cluster description, or a saved plan [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -n '__sparkplan_command_is drift' -l json -d 'the findings as JSON'
complete -c sparkplan -n '__sparkplan_command_is drift' -l syslog -d 'one RFC 5424 message per finding to /dev/log'
complete -c sparkplan -n '__sparkplan_command_is drift' -l textfile -rF -d 'write metrics for Prometheus\' node exporter to PATH'
complete -c sparkplan -n '__sparkplan_command_is drift' -l splay -x -d 'start after a random delay of up to DURATION'
complete -c sparkplan -n '__sparkplan_command_is drift' -l pending -d 'exit 2 also for changes that were never applied'
complete -c sparkplan -n '__sparkplan_command_is drift' -l only -x -a '(__sparkplan_nodes)' -d 'only what matches GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME'
complete -c sparkplan -n '__sparkplan_command_is drift' -l exclude -x -a '(__sparkplan_nodes)' -d 'everything except what matches GLOB'
complete -c sparkplan -n '__sparkplan_command_is drift' -F
complete -c sparkplan -n '__sparkplan_command_is verify' -l level -x -a 'link mtu ssh tcp rdma gpu nccl storage all' -d 'one of link, mtu, ssh, tcp, rdma, gpu, nccl, storage, all; also runs the levels it needs [all]'
complete -c sparkplan -n '__sparkplan_command_is verify' -l force -d 'levels gpu and nccl: also measure a GPU that a job uses'
complete -c sparkplan -n '__sparkplan_command_is verify' -l json -d 'the checks as JSON'
complete -c sparkplan -n '__sparkplan_command_is verify' -l junit -rF -d 'write the checks to PATH as JUnit XML'
complete -c sparkplan -n '__sparkplan_command_is verify' -l report -rF -d 'also write the result to PATH as an HTML page of one file'
complete -c sparkplan -n '__sparkplan_command_is verify' -l history -d 'measure nothing; print the last runs, and what became slower'
complete -c sparkplan -n '__sparkplan_command_is verify' -l check -x -d 'with --history: all values of the check ID'
complete -c sparkplan -n '__sparkplan_command_is verify' -l sizes -x -d 'nccl: MIN:MAX or MIN:MAX:FACTOR, such as 8B:8GiB:2'
complete -c sparkplan -n '__sparkplan_command_is verify' -l collectives -x -d 'nccl: all, or a list such as all_reduce,broadcast [all_reduce,all_gather]'
complete -c sparkplan -n '__sparkplan_command_is verify' -l ranks-per-node -x -d 'nccl: a number, or gpus: one rank per GPU [1]'
complete -c sparkplan -n '__sparkplan_command_is verify' -l library -rF -d 'nccl: load NCCL from PATH on the nodes, as a job does'
complete -c sparkplan -n '__sparkplan_command_is verify' -l image -x -d 'nccl: load the NCCL of this image, in a container'
complete -c sparkplan -n '__sparkplan_command_is verify' -l only -x -a '(__sparkplan_nodes)' -d 'only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b'
complete -c sparkplan -n '__sparkplan_command_is verify' -F
complete -c sparkplan -n '__sparkplan_command_is doctor' -l json -d 'the findings as JSON'
complete -c sparkplan -n '__sparkplan_command_is doctor' -l report -rF -d 'also write the result to PATH as an HTML page of one file'
complete -c sparkplan -n '__sparkplan_command_is doctor' -l only -x -a '(__sparkplan_nodes)' -d 'only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b'
complete -c sparkplan -n '__sparkplan_command_is doctor' -F
complete -c sparkplan -n '__sparkplan_command_is sync' -l yes -d 'do not ask before replacing other content, before sending files that only the source has, or before removing with --prune'
complete -c sparkplan -n '__sparkplan_command_is sync' -l dry-run -d 'show what would be sent; send nothing'
complete -c sparkplan -n '__sparkplan_command_is sync' -l prune -d 'also remove what earlier syncs brought and the file no longer names'
complete -c sparkplan -n '__sparkplan_command_is sync' -l verify -d 'read every file again, compare its digests, and send whole images'
complete -c sparkplan -n '__sparkplan_command_is sync' -l encrypt -d 'encrypt what travels over the fabric'
complete -c sparkplan -n '__sparkplan_command_is sync' -l limit -x -d 'send and receive at most RATE per node: 0.4 Gb/s, 50 MB/s'
complete -c sparkplan -n '__sparkplan_command_is sync' -l json -d 'the outcome as JSON; progress as JSON objects on standard error'
complete -c sparkplan -n '__sparkplan_command_is sync' -l only -x -a '(__sparkplan_nodes)' -d 'only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b'
complete -c sparkplan -n '__sparkplan_command_is history' -l json -d 'as JSON'
complete -c sparkplan -n '__sparkplan_command_is history' -a '(__sparkplan_nodes)' -d 'its runs, with every artifact; without NODE, the runs of all nodes'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l confirm-timeout -x -d 'roll back if the node is unreachable after DURATION; 5s to 30m [90s]'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l allow-mgmt-change -d 'also change the interface that carries the connection'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l no-safety-net -d 'make disruptive changes without automatic rollback'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l ignore-jobs -d 'also make disruptive changes on nodes where a job is running'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l max-parallel -x -d 'after the first node, change the network of at most N nodes at once [all]'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l lock-timeout -x -d 'how long to wait for another run\'s locks [0s]'
complete -c sparkplan -n '__sparkplan_command_is rollback' -a '(__sparkplan_nodes)' -d 'undo the last run of each; without NODE, the cluster\'s last run'
complete -c sparkplan -n '__sparkplan_command_is unlock' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is unlock' -a '(__sparkplan_nodes)' -d 'its name'
complete -c sparkplan -n '__sparkplan_command_is release' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is release' -l forget -d 'do not contact the node, which keeps its configuration'
complete -c sparkplan -n '__sparkplan_command_is release' -l confirm-timeout -x -d 'roll back if the node is unreachable after DURATION; 5s to 30m [90s]'
complete -c sparkplan -n '__sparkplan_command_is release' -l allow-mgmt-change -d 'also change the interface that carries the connection'
complete -c sparkplan -n '__sparkplan_command_is release' -l no-safety-net -d 'make disruptive changes without automatic rollback'
complete -c sparkplan -n '__sparkplan_command_is release' -l ignore-jobs -d 'also make disruptive changes on nodes where a job is running'
complete -c sparkplan -n '__sparkplan_command_is release' -l max-parallel -x -d 'after the first node, change the network of at most N nodes at once [all]'
complete -c sparkplan -n '__sparkplan_command_is release' -l lock-timeout -x -d 'how long to wait for another run\'s locks [0s]'
complete -c sparkplan -n '__sparkplan_command_is release' -a '(__sparkplan_nodes)' -d 'its name'
complete -c sparkplan -n '__sparkplan_command_is trust' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is trust' -a '(__sparkplan_nodes)' -d 'its name'
complete -c sparkplan -n '__sparkplan_command_is status' -l json -d 'as JSON'
complete -c sparkplan -n '__sparkplan_command_is status' -F
complete -c sparkplan -n '__sparkplan_command_is facts' -l json -d 'as JSON'
complete -c sparkplan -n '__sparkplan_command_is facts' -a '(__sparkplan_nodes)' -d 'its name; without it, all nodes are compared'
complete -c sparkplan -n '__sparkplan_command_is export' -l format -x -a 'ssh-config hostfile torchrun env mpirun vllm ray docker compose ansible slurm prometheus hosts topology svg' -d 'one of ssh-config, hostfile, torchrun, env, mpirun, vllm, ray, docker, compose, ansible, slurm, prometheus, hosts, topology, svg'
complete -c sparkplan -n '__sparkplan_command_is export' -l only -x -a '(__sparkplan_nodes)' -d 'only what matches GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME'
complete -c sparkplan -n '__sparkplan_command_is export' -l exclude -x -a '(__sparkplan_nodes)' -d 'everything except what matches GLOB'
complete -c sparkplan -n '__sparkplan_command_is export' -F
complete -c sparkplan -n '__sparkplan_command_is tune' -l budget -x -d 'measure for at most DURATION; 30s or more [20m]'
complete -c sparkplan -n '__sparkplan_command_is tune' -l force -d 'also measure nodes and GPUs that a job uses'
complete -c sparkplan -n '__sparkplan_command_is tune' -s o -l output -rF -d 'write the lines for cluster.yaml to PATH'
complete -c sparkplan -n '__sparkplan_command_is tune' -l report -rF -d 'also write the result to PATH as an HTML page of one file'
complete -c sparkplan -n '__sparkplan_command_is tune' -l json -d 'the result as JSON, with every measured pair'
complete -c sparkplan -n '__sparkplan_command_is tune' -l only -x -a '(__sparkplan_nodes)' -d 'only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b'
complete -c sparkplan -n '__sparkplan_command_is tune' -F
complete -c sparkplan -n '__sparkplan_command_is completion' -a 'bash zsh fish' -d 'the shell'
complete -c sparkplan -n '__sparkplan_command_is help' -a 'init validate plan show apply drift verify doctor sync history rollback unlock release trust status facts export tune completion help schema types version exec run' -d 'the command'
complete -c sparkplan -n '__sparkplan_command_is exec' -l output-dir -rF -d 'write the output to PATH/NODE.out and PATH/NODE.err'
complete -c sparkplan -n '__sparkplan_command_is exec' -l time-limit -x -d 'end the command after DURATION [none]'
complete -c sparkplan -n '__sparkplan_command_is exec' -l json -d 'the outcome as JSON, with the end of the output'
complete -c sparkplan -n '__sparkplan_command_is exec' -l only -x -a '(__sparkplan_nodes)' -d 'only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b'
complete -c sparkplan -n '__sparkplan_command_is run' -l ranks-per-node -x -d 'a number, or gpus: one rank per GPU [1]'
complete -c sparkplan -n '__sparkplan_command_is run' -l launcher -x -a 'none torchrun mpirun' -d 'one of none, torchrun, mpirun [none]'
complete -c sparkplan -n '__sparkplan_command_is run' -l image -x -d 'run each rank in a container of this image, by docker or podman'
complete -c sparkplan -n '__sparkplan_command_is run' -l env -x -d 'NAME=VALUE: set a variable in all ranks'
complete -c sparkplan -n '__sparkplan_command_is run' -l workdir -x -d 'the working directory on the nodes, or in the containers [home, or the image\'s]'
complete -c sparkplan -n '__sparkplan_command_is run' -l output-dir -rF -d 'write the output of each rank to files in PATH'
complete -c sparkplan -n '__sparkplan_command_is run' -l master-port -x -d 'the port of rank 0 for the rendezvous [29500]'
complete -c sparkplan -n '__sparkplan_command_is run' -l time-limit -x -d 'end the job after DURATION [none]'
complete -c sparkplan -n '__sparkplan_command_is run' -l grace -x -d 'between SIGTERM and SIGKILL [10s]'
complete -c sparkplan -n '__sparkplan_command_is run' -l watch -x -d 'if no rank prints for DURATION, report what each rank does [off]'
complete -c sparkplan -n '__sparkplan_command_is run' -l no-preflight -d 'start even if the preflight would fail'
complete -c sparkplan -n '__sparkplan_command_is run' -l json -d 'the outcome as JSON, with the end of the output'
complete -c sparkplan -n '__sparkplan_command_is run' -l only -x -a '(__sparkplan_nodes)' -d 'only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b'
