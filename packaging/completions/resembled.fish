complete -c resembled -l link -d 'Make a symbolic link here that leads to the view of the watched folders' -r -F
complete -c resembled -l mount -d 'Mount the view here [default: resemble/view in the runtime folder]' -r -F
complete -c resembled -l view -d 'How the overlay shows the tree [default: folders]' -r -f -a "folders\t'Each file is a folder with the file itself and `.similar/`'
files\t'The tree as it is; each folder answers `.similar/NAME/`'"
complete -c resembled -l show -d 'Whether listings of the overlay show `.similar` [default: as the view has it]' -r -f -a "always\t'Listed wherever it exists'
never\t'Never listed, but it can be opened wherever it exists'"
complete -c resembled -l similar-name -d 'List `.similar` under this name, for file managers, which hide names that begin with a dot' -r
complete -c resembled -l state -d 'Where index, alerts and the list of kept roots live' -r -F
complete -c resembled -l socket -d 'The socket to listen at' -r -F
complete -c resembled -l config -d 'Read options and roots from a TOML file' -r -F
complete -c resembled -l text -d 'Extract texts and members of documents and archives in the roots of the command line [default: on]' -r -f -a "on\t'Documents are compared by their text, archives by what they hold'
off\t'Every file is compared by its bytes alone'"
complete -c resembled -l exclude -d 'Leave out names that match GLOB (as in .gitignore), with all below, in the roots of the command line; may be repeated' -r
complete -c resembled -l max-size -d 'Leave out files of more than SIZE bytes (4096, 10K of 1024 each, 10KB of 1000, 1.5G) in the roots of the command line' -r
complete -c resembled -l chunk-size -d 'Average size of chunks in bytes [default: 1015]' -r
complete -c resembled -l boilerplate -d 'A chunk or sample that more contents than this have is boilerplate [default: 1000]' -r
complete -c resembled -l user -d 'The user that the system\'s daemon becomes: a name, or UID:GID [default: resembled]' -r
complete -c resembled -l control-group -d 'The group whose members give orders to the system\'s daemon [default: resemble]' -r
complete -c resembled -l reconcile -d 'Compare the whole tree with the index every SECS seconds; 0 for never [default: 3600]' -r
complete -c resembled -l no-mount -d 'Mount no view'
complete -c resembled -l ignore -d 'Honour ignore files and skip `.git` in the roots of the command line'
complete -c resembled -l one-file-system -d 'Do not enter other file systems below the roots of the command line'
complete -c resembled -l system -d 'Answer all users of this machine, each from the files that they can open themselves'
complete -c resembled -l write-config -d 'Write a configuration to start with, for these roots, and end: to --config, or to resemble/resembled.toml among your configuration files'
complete -c resembled -l wait -d 'Open the socket and mount the overlay only when the first scan is done'
complete -c resembled -s v -l verbose -d 'Say more; twice for everything'
complete -c resembled -s q -l quiet -d 'Say only what is wrong'
complete -c resembled -s h -l help -d 'Print help (see more with \'--help\')'
complete -c resembled -s V -l version -d 'Print version'
