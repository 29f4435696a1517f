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
            case --log-file --workers --timeout
                set is_value 1
            case '-*'
            case '*'
                set command $word
                break
        end
    end
    test "$command" = "$argv[1]"
end

complete -c sparkplan -f
complete -c sparkplan -s h -l help -d 'print this help'
complete -c sparkplan -s v -l verbose -d 'tell what is done on each node'
complete -c sparkplan -s q -l quiet -d 'print only what needs attention'
complete -c sparkplan -l no-color -d 'no colours (NO_COLOR in the environment does the same)'
complete -c sparkplan -l log-file -rF -d 'write what -v tells to PATH'
complete -c sparkplan -l workers -x -d 'nodes worked on at a time, 1 to 256 [16]'
complete -c sparkplan -l timeout -x -d 'how long to wait for a connection [10s]'
complete -c sparkplan -l ask-become-pass -d 'ask for the password that sudo wants on the nodes'
complete -c sparkplan -n "__sparkplan_command_is ''" -a init -d 'write a cluster.yaml for these machines, as they are'
complete -c sparkplan -n "__sparkplan_command_is ''" -a validate -d 'check cluster.yaml; contacts nobody'
complete -c sparkplan -n "__sparkplan_command_is ''" -a plan -d 'show what would change on each node, and why; changes nothing'
complete -c sparkplan -n "__sparkplan_command_is ''" -a show -d 'show a saved plan again; contacts nobody'
complete -c sparkplan -n "__sparkplan_command_is ''" -a apply -d 'make the nodes match cluster.yaml, or carry out a saved plan'
complete -c sparkplan -n "__sparkplan_command_is ''" -a drift -d 'find what was changed behind sparkplan\'s back; for cron'
complete -c sparkplan -n "__sparkplan_command_is ''" -a verify -d 'measure whether the cluster works, from the cable up to NCCL'
complete -c sparkplan -n "__sparkplan_command_is ''" -a doctor -d 'look for what is known to go wrong, with its cause and what to do'
complete -c sparkplan -n "__sparkplan_command_is ''" -a history -d 'past runs, newest first'
complete -c sparkplan -n "__sparkplan_command_is ''" -a rollback -d 'undo the last run where nobody has changed its values since'
complete -c sparkplan -n "__sparkplan_command_is ''" -a unlock -d 'break a node\'s lock, naming its holder'
complete -c sparkplan -n "__sparkplan_command_is ''" -a release -d 'give a node back as it was before sparkplan; the others forget it'
complete -c sparkplan -n "__sparkplan_command_is ''" -a trust -d 'show a node\'s host key and record it in ~/.ssh/known_hosts'
complete -c sparkplan -n "__sparkplan_command_is ''" -a status -d 'one line per node'
complete -c sparkplan -n "__sparkplan_command_is ''" -a facts -d 'what is known of a node'
complete -c sparkplan -n "__sparkplan_command_is ''" -a export -d 'print the cluster as another tool wants it; contacts nobody'
complete -c sparkplan -n "__sparkplan_command_is ''" -a completion -d 'print the script that makes a shell complete sparkplan\'s words'
complete -c sparkplan -n "__sparkplan_command_is ''" -a schema -d 'print the JSON Schema of cluster.yaml'
complete -c sparkplan -n "__sparkplan_command_is ''" -a types -d 'list the resource types'
complete -c sparkplan -n "__sparkplan_command_is ''" -a version -d 'print the version'
complete -c sparkplan -n '__sparkplan_command_is init' -l discover -d 'find machines that announce SSH in this machine\'s networks'
complete -c sparkplan -n '__sparkplan_command_is init' -s o -l output -rF -d 'write PATH; - is standard output [where commands look for FILE]'
complete -c sparkplan -n '__sparkplan_command_is validate' -l json -d 'findings as JSON'
complete -c sparkplan -n '__sparkplan_command_is validate' -F
complete -c sparkplan -n '__sparkplan_command_is plan' -s o -l output -rF -d 'save the plan as PATH, for apply'
complete -c sparkplan -n '__sparkplan_command_is plan' -l json -d 'the plan as JSON'
complete -c sparkplan -n '__sparkplan_command_is plan' -l yes-prune -d 'contact nodes that left the file, and show what they get back'
complete -c sparkplan -n '__sparkplan_command_is plan' -l detailed-exitcode -d 'exit 2 if there are changes'
complete -c sparkplan -n '__sparkplan_command_is plan' -l only -x -d 'only what fits GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME'
complete -c sparkplan -n '__sparkplan_command_is plan' -l exclude -x -d 'all but what fits GLOB'
complete -c sparkplan -n '__sparkplan_command_is plan' -F
complete -c sparkplan -n '__sparkplan_command_is show' -l json -d 'the plan as JSON'
complete -c sparkplan -n '__sparkplan_command_is show' -l signed-by -x -d 'refuse a plan that IDENTITY has not signed with ssh-keygen -Y sign'
complete -c sparkplan -n '__sparkplan_command_is show' -l allowed-signers -rF -d 'whose keys count as whose [~/.ssh/allowed_signers]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is apply' -l yes-prune -d 'give back nodes that left the file; remove most of what is managed on a node'
complete -c sparkplan -n '__sparkplan_command_is apply' -l all-or-nothing -d 'change nothing anywhere if one node cannot be reached or planned'
complete -c sparkplan -n '__sparkplan_command_is apply' -l confirm-timeout -x -d 'undo what may cut a node off unless it answers within; 5s to 30m [90s]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l allow-mgmt-change -d 'try changes of the interface that carries the connection, too'
complete -c sparkplan -n '__sparkplan_command_is apply' -l no-safety-net -d 'undo nothing by itself on a node that is cut off'
complete -c sparkplan -n '__sparkplan_command_is apply' -l max-parallel -x -d 'after the first, change the network of at most N nodes at once [all]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l lock-timeout -x -d 'how long to wait for another run\'s locks [0s]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l signed-by -x -d 'refuse a plan that IDENTITY has not signed with ssh-keygen -Y sign'
complete -c sparkplan -n '__sparkplan_command_is apply' -l allowed-signers -rF -d 'whose keys count as whose [~/.ssh/allowed_signers]'
complete -c sparkplan -n '__sparkplan_command_is apply' -l verify -d 'if it succeeds, measure what `verify` measures'
complete -c sparkplan -n '__sparkplan_command_is apply' -l json -d 'the outcome as JSON'
complete -c sparkplan -n '__sparkplan_command_is apply' -l only -x -d 'only what fits GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME'
complete -c sparkplan -n '__sparkplan_command_is apply' -l exclude -x -d 'all but what fits GLOB'
complete -c sparkplan -n '__sparkplan_command_is apply' -F
complete -c sparkplan -n '__sparkplan_command_is drift' -l json -d 'the findings as JSON'
complete -c sparkplan -n '__sparkplan_command_is drift' -l syslog -d 'one RFC 5424 message per finding to /dev/log'
complete -c sparkplan -n '__sparkplan_command_is drift' -l textfile -rF -d 'write metrics for Prometheus\' node exporter to PATH'
complete -c sparkplan -n '__sparkplan_command_is drift' -l splay -x -d 'begin after a random while of up to DURATION'
complete -c sparkplan -n '__sparkplan_command_is drift' -l pending -d 'exit 2 also for changes that were never applied'
complete -c sparkplan -n '__sparkplan_command_is drift' -l only -x -d 'only what fits GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME'
complete -c sparkplan -n '__sparkplan_command_is drift' -l exclude -x -d 'all but what fits GLOB'
complete -c sparkplan -n '__sparkplan_command_is drift' -F
complete -c sparkplan -n '__sparkplan_command_is verify' -l level -x -d 'one of link, mtu, ssh, tcp, rdma, nccl, storage, all; with what it needs [all]'
complete -c sparkplan -n '__sparkplan_command_is verify' -l json -d 'the checks as JSON'
complete -c sparkplan -n '__sparkplan_command_is verify' -l junit -rF -d 'write the checks to PATH as JUnit XML'
complete -c sparkplan -n '__sparkplan_command_is verify' -l only -x -d 'only nodes whose name fits GLOB'
complete -c sparkplan -n '__sparkplan_command_is verify' -F
complete -c sparkplan -n '__sparkplan_command_is doctor' -l json -d 'the findings as JSON'
complete -c sparkplan -n '__sparkplan_command_is doctor' -F
complete -c sparkplan -n '__sparkplan_command_is history' -s f -l file -rF -d 'cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -n '__sparkplan_command_is history' -l json -d 'as JSON'
complete -c sparkplan -n '__sparkplan_command_is rollback' -s f -l file -rF -d 'cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l confirm-timeout -x -d 'undo what may cut a node off unless it answers within; 5s to 30m [90s]'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l allow-mgmt-change -d 'try changes of the interface that carries the connection, too'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l no-safety-net -d 'undo nothing by itself on a node that is cut off'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l max-parallel -x -d 'after the first, change the network of at most N nodes at once [all]'
complete -c sparkplan -n '__sparkplan_command_is rollback' -l lock-timeout -x -d 'how long to wait for another run\'s locks [0s]'
complete -c sparkplan -n '__sparkplan_command_is unlock' -s f -l file -rF -d 'cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -n '__sparkplan_command_is unlock' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is release' -s f -l file -rF -d 'cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -n '__sparkplan_command_is release' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is release' -l confirm-timeout -x -d 'undo what may cut a node off unless it answers within; 5s to 30m [90s]'
complete -c sparkplan -n '__sparkplan_command_is release' -l allow-mgmt-change -d 'try changes of the interface that carries the connection, too'
complete -c sparkplan -n '__sparkplan_command_is release' -l no-safety-net -d 'undo nothing by itself on a node that is cut off'
complete -c sparkplan -n '__sparkplan_command_is release' -l max-parallel -x -d 'after the first, change the network of at most N nodes at once [all]'
complete -c sparkplan -n '__sparkplan_command_is release' -l lock-timeout -x -d 'how long to wait for another run\'s locks [0s]'
complete -c sparkplan -n '__sparkplan_command_is trust' -s f -l file -rF -d 'cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -n '__sparkplan_command_is trust' -l yes -d 'do not ask'
complete -c sparkplan -n '__sparkplan_command_is status' -F
complete -c sparkplan -n '__sparkplan_command_is facts' -s f -l file -rF -d 'cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]'
complete -c sparkplan -n '__sparkplan_command_is facts' -l json -d 'as JSON'
complete -c sparkplan -n '__sparkplan_command_is export' -l format -x -d 'one of ssh-config, hostfile, torchrun, env, docker, ansible, slurm, prometheus, topology'
complete -c sparkplan -n '__sparkplan_command_is export' -F
complete -c sparkplan -n '__sparkplan_command_is completion' -a 'bash zsh fish' -d 'whose script'
