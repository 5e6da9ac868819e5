# The flagship point on plain Hugging Face: it stops while loading, at a layer, so many bytes short.
run --hw rtx4090 --workload qlora70b --engine hf --json
