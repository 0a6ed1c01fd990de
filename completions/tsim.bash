# Completion of tsim for bash: source this file, or install it as
# share/bash-completion/completions/tsim.

# Sets COMPREPLY to the files that begin with $1 and end with $2, and to folders.
_tsim_files() {
  local name
  COMPREPLY=()
  compopt -o filenames 2>/dev/null
  while IFS= read -r name; do
    if [[ -d $name || $name == *$2 ]]; then COMPREPLY+=("$name"); fi
  done < <(compgen -f -- "$1")
}

_tsim_words() {
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

_tsim() {
  local current=${COMP_WORDS[COMP_CWORD]} previous='' command='' i
  if ((COMP_CWORD > 0)); then previous=${COMP_WORDS[COMP_CWORD - 1]}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done

  case $previous in
    --trace) _tsim_files "$current" .json; return ;;
    --html) _tsim_files "$current" .html; return ;;
    --markdown) _tsim_files "$current" .md; return ;;
    --vtrain) _tsim_files "$current" .csv; return ;;
    --filter | --jobs) COMPREPLY=(); return ;;
    --svg) _tsim_files "$current" .svg; return ;;
    --dot) _tsim_files "$current" .dot; return ;;
    --out | --sketch) _tsim_files "$current" .json; return ;;
    --msccl) _tsim_files "$current" .xml; return ;;
    --device-file | --for) _tsim_files "$current" .json; return ;;
    --base) _tsim_words "$current" "$("${COMP_WORDS[0]}" devices --names 2>/dev/null)"; return ;;
    --budget) COMPREPLY=(); return ;;
    --device) _tsim_words "$current" "$("${COMP_WORDS[0]}" devices --names 2>/dev/null)"; return ;;
    --dtype) _tsim_words "$current" 'fp32 tf32 fp16 bf16 fp8 int16 int8'; return ;;
    --fusion) _tsim_words "$current" 'none framework full'; return ;;
    --op) _tsim_words "$current" 'all_reduce reduce_scatter all_gather broadcast reduce scatter gather
        all_to_all send_recv barrier parameter_server'; return ;;
    --fidelity) _tsim_words "$current" 'aggregated steps'; return ;;
    --program) _tsim_files "$current" ''; return ;;
    --plot) _tsim_files "$current" .svg; return ;;
    --sizes | --size | --pieces | --allow | --rotate | --ranks | --servers | --algorithm | --compare \
      | --with) COMPREPLY=(); return ;;
    --set | --trace-ranks | --micro-batch | --sequence) COMPREPLY=(); return ;;
    --nodes | --pcie | --nvlink | --nic) COMPREPLY=(); return ;;
    --scenario) _tsim_files "$current" .json; return ;;
    --db | --csv) _tsim_files "$current" ''; return ;;
    --search) _tsim_words "$current" 'grid random pareto best'; return ;;
    --objective) _tsim_words "$current" 'step_time tokens_per_second tokens_per_second_per_device
        cost_per_million_tokens energy_per_token memory days'; return ;;
    --as) _tsim_words "$current" 'megatron deepspeed torchtitan'; return ;;
    --vary | --where | --samples | --seed | --top | --events | --price | --power | --tokens \
      | --memory-margin | --step-time | --jobs | --global-batch) COMPREPLY=(); return ;;
  esac

  case $command:$current in
    :-*) _tsim_words "$current" '--help --version' ;;
    :*) _tsim_words "$current" 'run models devices explain topo import net jobs synthesise calibrate
        validate fit sweep advise' ;;
    run:-*) _tsim_words "$current" '--help --json --trace --trace-ranks --set' ;;
    run:*) _tsim_files "$current" .json ;;
    models:*) _tsim_words "$current" '--help --json --names' ;;
    devices:-*) _tsim_words "$current" '--help --json --names --svg' ;;
    devices:*)
      if [[ $previous == devices ]]; then
        _tsim_words "$current" 'show'
      else
        _tsim_words "$current" "$("${COMP_WORDS[0]}" devices --names 2>/dev/null)"
      fi
      ;;
    calibrate:-*)
      _tsim_words "$current" '--help --base --device-file --cluster-file --cluster --for --list --check --measured
        --device --budget --set'
      ;;
    calibrate:*)
      if [[ $previous == calibrate ]]; then
        _tsim_words "$current" 'import'
      else
        _tsim_files "$current" ''
      fi
      ;;
    net:-*)
      _tsim_words "$current" '--help --op --sizes --ranks --servers --algorithm --compare --program
        --fidelity --with --links --plot --csv --json'
      ;;
    net:* | jobs:*/*) _tsim_files "$current" .json ;;
    synthesise:-*)
      _tsim_words "$current" '--help --op --size --ranks --pieces --allow --rotate --out --set --steps
        --json'
      ;;
    synthesise:*) _tsim_files "$current" .json ;;
    validate:-*)
      _tsim_words "$current" '--help --filter --jobs --device --vtrain --json --svg --html --markdown'
      ;;
    validate:*) _tsim_files "$current" .json ;;
    fit:-*) _tsim_words "$current" '--help --out --jobs' ;;
    fit:*) _tsim_files "$current" .json ;;
    jobs:-*) _tsim_words "$current" '--help --ranks --json' ;;
    jobs:*) _tsim_files "$current" .json ;;
    import:-*)
      _tsim_words "$current" '--help --out --sketch --msccl --device --nodes --pcie --nvlink --nic'
      ;;
    import:*)
      if [[ $previous == import ]]; then
        _tsim_words "$current" 'topo simgrid taccl program'
      else
        _tsim_files "$current" ''
      fi
      ;;
    explain:-*)
      _tsim_words "$current" '--help --micro-batch --sequence --device --dtype --fusion
        --flash-attention --no-dropout --json'
      ;;
    sweep:-*)
      _tsim_words "$current" '--help --scenario --vary --where --set --search --objective --samples
        --seed --top --events --price --power --tokens --memory-margin --step-time --db --jobs
        --dry-run --tornado --pareto --csv --json'
      ;;
    sweep:*)
      _tsim_files "$current" ''
      ;;
    advise:-*)
      _tsim_words "$current" '--help --nodes --global-batch --sequence --as --top --jobs --set --json'
      ;;
    advise:*)
      if [[ $previous == advise ]]; then
        _tsim_words "$current" "$("${COMP_WORDS[0]}" models --names 2>/dev/null)"
      else
        _tsim_files "$current" .json
      fi
      ;;
    topo:-*) _tsim_words "$current" '--help --pairs --paths --all --json --svg --dot --set' ;;
    topo:*) _tsim_files "$current" .json ;;
    explain:*/*) _tsim_files "$current" .json ;;
    explain:*) _tsim_words "$current" "$("${COMP_WORDS[0]}" models --names 2>/dev/null)" ;;
  esac
}

complete -F _tsim tsim
