# bash completion for stoker: commands, options, configurations, keys of a configuration and their values. Kinds and types of
# components, which plug-ins add to, are asked of the program.
# From here: tests/run update
_stoker_commands() {
  case "$*" in
    "") echo "train launch check environment bench headspace try checkpoint dataset darshan report compare timelogger trace runs serve doctor sweep schema simulate size advise mount import-dlio tune cold run describe healthcheck help list version" ;;
    "bench") echo "read loader decode storage load lmdb train checkpoint" ;;
    "checkpoint") echo "list verify diff export import" ;;
    "dataset") echo "fetch inspect synth convert stage" ;;
    "runs") echo "rm" ;;
  esac
}
_stoker_options() {
  case "$*" in
    "") echo "--help --version" ;;
    "train") echo "--help --json --quiet" ;;
    "launch") echo "--help --json --ranks --quiet" ;;
    "check") echo "--help --json" ;;
    "environment") echo "--help --json" ;;
    "bench") echo "--help" ;;
    "bench read") echo "--help --json --stages --threads --pipeline --loader --batch --batches --repetitions --page-cache" ;;
    "bench loader") echo "--help --json --epochs --ceiling-samples --scaling --dump --quick" ;;
    "bench decode") echo "--help --json --versus --samples --rounds" ;;
    "bench storage") echo "--help --block-size --transfer-size --threads --pattern --op --fsync --file-per-thread --shared --objects --cold --seconds --directory --rounds --fit --json" ;;
    "bench load") echo "--help --config --tier --access --threads --rounds --cold --json" ;;
    "bench lmdb") echo "--help --json --ranks --readers --rounds --steps --page-cache --drop-caches" ;;
    "bench train") echo "--help --json --threads --workers --steps --warm-up --rounds --bare --at-most" ;;
    "bench checkpoint") echo "--help --json --rounds --loop --step-ms --every --loader --shape --ranks --rank --parallel --optimizer --scale --in-turns --closed" ;;
    "headspace") echo "--help --json --epochs --steps" ;;
    "try") echo "--help --to --json" ;;
    "checkpoint") echo "--help" ;;
    "checkpoint list") echo "--help --json" ;;
    "checkpoint verify") echo "--help --json --all" ;;
    "checkpoint diff") echo "--help --tolerance --json" ;;
    "checkpoint export") echo "--help --all --max-shard --json" ;;
    "checkpoint import") echo "--help --like --all --step --json" ;;
    "dataset") echo "--help" ;;
    "dataset fetch") echo "--help --to --archive --url --json" ;;
    "dataset inspect") echo "--help --json --samples" ;;
    "dataset synth") echo "--help --samples --classes --kind --size --per-file --test-files --per-test-file --median-bytes --sigma --seed --json" ;;
    "dataset convert") echo "--help --format --tier --shard-size --pixels --shuffle --no-verify --json" ;;
    "dataset stage") echo "--help --json --dry-run" ;;
    "darshan") echo "--help --files --output --trace --json --records" ;;
    "report") echo "--help --output --json" ;;
    "compare") echo "--help --a --b --metric --threshold --json" ;;
    "timelogger") echo "--help --nodes --timeline --max-bad --json" ;;
    "trace") echo "--help --json" ;;
    "runs") echo "--help --sort --csv --json" ;;
    "runs rm") echo "--help --failed --keep --older --yes" ;;
    "serve") echo "--help --listen" ;;
    "doctor") echo "--help --verify --rounds --seconds --steps --dir --json" ;;
    "sweep") echo "--help --only --set --directory --short --restart --report-only --check --json" ;;
    "schema") echo "--help" ;;
    "simulate") echo "--help --run --machine --what-if --inputs --json" ;;
    "size") echo "--help --images-per-s --gpus --nodes --data --run --batch-size --decode-ms --measure --cores --trainer-cores --workers --tier --json" ;;
    "advise") echo "--help --capacity --max-file --fast --slow-fit --fast-fit --profile --output --auto --json" ;;
    "mount") echo "--help --mode --read-ahead --allow-other --threads --json" ;;
    "import-dlio") echo "--help --to --data --generate --run --memory --hosts --accelerators --json" ;;
    "tune") echo "--help --json --seconds --least-memory --same-results --or --write" ;;
    "cold") echo "--help --evict --certify --files --ranges --top --json" ;;
    "run") echo "--help --log --json --tier --tier-cache --pid --seconds" ;;
    "describe") echo "--help --plugin --json" ;;
    "healthcheck") echo "--help --json" ;;
    "help") echo "--help" ;;
    "list") echo "--help --figures --plugin --json" ;;
    "version") echo "--help" ;;
  esac
}
_stoker_keys() {
  echo "run.name= run.seed= run.dir= run.page_cache= run.drop_caches= run.hang_seconds= plugins= device.type= device.index= device.queue_depth= device.preset= device.gflop_per_image= device.step_ms= device.images_per_s= device.distribution.type= device.distribution.relative_stdev= device.h2d_gb_per_s= device.h2d_latency_us= device.allreduce_gb_per_s= device.allreduce_latency_us= device.allreduce_overlap= dataset.type= dataset.limit= dataset.keep= dataset.storage= dataset.train= dataset.test= dataset.folder= dataset.classes= dataset.label_offset= dataset.max_file_bytes= dataset.on_error.policy= dataset.on_error.budget= dataset.split.seed= dataset.split.train= dataset.split.test= dataset.max_sample_bytes= dataset.block= dataset.read_ahead= dataset.readers= dataset.images= dataset.offsets= dataset.labels= dataset.keys= dataset.target= dataset.stats= dataset.samples= dataset.access= dataset.keep_shards= dataset.test_folder= dataset.exclude= dataset.one_class= dataset.extensions= dataset.split.train_per_class= dataset.split.test_per_class= dataset.split.test_fraction= dataset.fetch= dataset.values= dataset.label= dataset.test_samples= dataset.unique= dataset.image.width= dataset.image.height= dataset.image.quality= dataset.image.median_bytes= dataset.image.sigma= dataset.planes.channels= dataset.planes.height= dataset.planes.width= dataset.planes.target= dataset.image= dataset.text= dataset.filename= decoder.type= decoder.size= decoder.fit= decoder.crop_ratio= decoder.resize= decoder.output= decoder.limits.max_pixels= decoder.limits.max_side= decoder.limits.max_bytes= decoder.limits.max_scans= decoder.augment.random_resized_crop.scale= decoder.augment.random_resized_crop.ratio= decoder.augment.flip= decoder.augment.color_jitter.brightness= decoder.augment.color_jitter.contrast= decoder.augment.color_jitter.saturation= decoder.augment.color_jitter.hue= decoder.on_device= decoder.on_device_share= decoder.frame= decoder.scaled_decode= decoder.tolerance= decoder.row= decoder.array= decoder.height= decoder.width= decoder.channels= decoder.max_bytes= decoder.select= decoder.normalise= decoder.stats= decoder.target= decoder.classes= decoder.layout= loader.type= loader.batch_size= loader.workers= loader.pin_workers= loader.prefetch_batches= loader.device_batches= loader.shuffle= loader.order= loader.window= loader.cycle_length= loader.block_length= loader.single_file_stays= loader.drop_last= loader.in_order= loader.digest= loader.reader= loader.node_size= loader.read_ahead= loader.coalesce= loader.stagger= loader.commit= loader.filling= loader.samples_ahead= model.type= model.dropout= model.init= model.layers= model.growth= model.filters= loss.type= loss.weights= optimizer.type= optimizer.lr= optimizer.beta1= optimizer.beta2= optimizer.eps= optimizer.weight_decay= optimizer.trust= optimizer.mode= optimizer.epsilon= optimizer.momentum= optimizer.dampening= optimizer.nesterov= schedule.type= schedule.warmup_steps= schedule.warmup_epochs= schedule.floor= schedule.every_epochs= schedule.every_steps= schedule.gamma= training.epochs= training.max_steps= training.precision= training.channels_last= training.label_smoothing= training.deterministic= training.on_nan= training.cuda_graph= training.compute= training.threads= distributed.backend= distributed.timeout= distributed.bucket= evaluation.enabled= evaluation.every_epochs= evaluation.metric.type= evaluation.metric.thresholds= checkpoint.type= checkpoint.fast= checkpoint.slow= checkpoint.every_steps= checkpoint.every_seconds= checkpoint.every_epochs= checkpoint.keep_last= checkpoint.keep_every= checkpoint.keep_best= checkpoint.snapshot= checkpoint.on_backlog= checkpoint.slots= checkpoint.staging_memory= checkpoint.verify= checkpoint.layout= checkpoint.shards= checkpoint.durability= checkpoint.write= checkpoint.threads= checkpoint.resume= checkpoint.renamed_classes= checkpoint.directory= checkpoint.grace_seconds= checkpoint.hang_seconds= checkpoint.drain_limit= checkpoint.retry_seconds= metrics.every_steps= metrics.profile.every_steps= metrics.profile.steps= metrics.io_profile.every_steps= metrics.io_profile.steps= metrics.io_profile.library= metrics.io_profile.memory= metrics.io_profile.segment_memory= metrics.io_profile.memory_alignment= metrics.io_profile.exclude= metrics.io_profile.include= metrics.sinks="
}
_stoker_values() {
  case "$*" in
    "run.page_cache") echo "as_is cold warm" ;;
    "run.drop_caches") echo "true false" ;;
    "device.type") echo "auto cpu cuda emulated" ;;
    "device.preset") echo "k4000 k80 h100 h200" ;;
    "device.distribution.type") echo "constant normal lognormal gamma" ;;
    "dataset.type") echo "decoded file_list hdf5 image_folder indexed_binary lmdb packed parquet synthetic tar_shards tfrecord" ;;
    "dataset.keep") echo "first_read most_expensive" ;;
    "dataset.on_error.policy") echo "fail skip" ;;
    "dataset.samples") echo "auto encoded rows file" ;;
    "dataset.access") echo "parts whole" ;;
    "dataset.one_class") echo "true false" ;;
    "dataset.values") echo "auto datum raw" ;;
    "dataset.planes.target") echo "true false" ;;
    "decoder.type") echo "auto bytes discard jpeg numpy opencv planes raw turbojpeg" ;;
    "decoder.fit") echo "stretch center_crop" ;;
    "decoder.resize") echo "bilinear antialias" ;;
    "decoder.output") echo "uint8 float32" ;;
    "decoder.augment.flip") echo "true false" ;;
    "decoder.on_device") echo "nothing resize decode" ;;
    "decoder.scaled_decode") echo "true false" ;;
    "decoder.tolerance") echo "strict as_libjpeg" ;;
    "decoder.target") echo "true false" ;;
    "decoder.layout") echo "auto nhwc nchw" ;;
    "loader.type") echo "device_prefetched device_resident lmdbio prefetched sync threaded" ;;
    "loader.pin_workers") echo "true false" ;;
    "loader.shuffle") echo "true false" ;;
    "loader.order") echo "permutation window local_files global_files local_window shards" ;;
    "loader.single_file_stays") echo "true false" ;;
    "loader.drop_last") echo "true false" ;;
    "loader.in_order") echo "true false" ;;
    "loader.digest") echo "true false" ;;
    "loader.reader") echo "lmdb lmm lmm_dm lmm_dio prov coal stag indexed" ;;
    "loader.read_ahead") echo "true false" ;;
    "loader.filling") echo "together apart" ;;
    "model.type") echo "alexnet alexnet_lrn hepcnnb linear resnet18 tiramisu two_layer_cnn" ;;
    "model.init") echo "torchvision lecun" ;;
    "loss.type") echo "cross_entropy pixel_cross_entropy" ;;
    "optimizer.type") echo "adam adamw larc sgd" ;;
    "optimizer.mode") echo "clip scale" ;;
    "optimizer.nesterov") echo "true false" ;;
    "schedule.type") echo "constant cosine step" ;;
    "training.precision") echo "fp32 bf16" ;;
    "training.channels_last") echo "true false" ;;
    "training.deterministic") echo "true false" ;;
    "training.on_nan") echo "stop warn" ;;
    "training.cuda_graph") echo "true false" ;;
    "training.compute") echo "true false" ;;
    "evaluation.enabled") echo "true false" ;;
    "evaluation.metric.type") echo "accuracy auc iou" ;;
    "checkpoint.type") echo "burst_buffer direct none" ;;
    "checkpoint.snapshot") echo "sync async swap" ;;
    "checkpoint.on_backlog") echo "block skip replace" ;;
    "checkpoint.verify") echo "none drained all" ;;
    "checkpoint.layout") echo "safetensors tf_saver" ;;
    "checkpoint.durability") echo "fsync none" ;;
    "checkpoint.write") echo "auto uring buffered stdio" ;;
    "checkpoint.renamed_classes") echo "true false" ;;
  esac
}
# To here.
# The word that is being completed, and the option a.b of which it is the value: bash cuts words at "=" for some users.
_stoker_word() {
  local last=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]:-} two=${COMP_WORDS[COMP_CWORD-2]:-}
  cut="" of=""
  if [[ $last == "=" ]]; then of=$before last=""
  elif [[ $before == "=" ]]; then of=$two
  elif [[ $last == [a-z]*.*=* ]]; then of=${last%%=*} cut="${last%%=*}=" last=${last#*=}
  fi
  # The last of several values of an axis.
  if [[ -n $of && $last == *,* ]]; then cut+="${last%,*}," last=${last##*,}; fi
  current=$last
}
_stoker() {
  local current cut of program=${COMP_WORDS[0]} path=() arguments=() word choices
  _stoker_word
  choices=$(_stoker_commands)
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ ${#arguments[@]} = 0 ] && [[ " $choices " == *" $word "* ]]; then
      path+=("$word")
      choices=$(_stoker_commands "${path[@]}")
    elif [[ $word != -* && $word != "=" ]]; then
      arguments+=("$word")
    fi
  done
  if [[ $current == -* ]]; then
    choices=$(_stoker_options "${path[@]}")
  elif [[ -n $of ]]; then
    choices=$(_stoker_values "$of")
  else
    case "${path[*]}/${#arguments[@]}" in
      list/0 | describe/0) choices=$("$program" list 2>/dev/null | grep -o '^[a-z]*') ;;
      describe/1) choices=$("$program" list "${arguments[0]}" 2>/dev/null | grep '^[a-z]' | cut -d' ' -f2- | tr -d ',') ;;
      schema/0) choices="experiment sweep" ;;
      help/0) choices="$(_stoker_commands) exit-codes" ;;
      help/*) choices=$(_stoker_commands "${arguments[@]}") ;;
      train/0 | launch/0 | check/0 | sweep/0 | headspace/0 | advise/0 | mount/0 | simulate/0 | "bench "*/0 | "checkpoint "*/0 | \
        "dataset inspect"/0 | "dataset convert"/0 | "dataset stage"/0)
        choices=$(compgen -f -X '!*.yaml' -- "${current:-configs/}"; compgen -d -S / -- "${current:-configs/}") ;;
      doctor/* | report/* | compare/* | trace/*) choices=$(compgen -d -- "${current:-runs/}") ;;
      train/* | launch/* | check/* | sweep/* | headspace/* | "bench "* | "dataset "* | "checkpoint "*)
        choices=$(_stoker_keys)
        # "loader." has to be followed by more, and "loader.type" by its value.
        compopt -o nospace 2>/dev/null ;;
    esac
  fi
  # Nothing to choose from: file names, by -o default.
  mapfile -t COMPREPLY < <(compgen -P "$cut" -W "$choices" -- "$current")
}
complete -o default -F _stoker stoker
