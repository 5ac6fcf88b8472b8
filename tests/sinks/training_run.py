"""A short training with sinks."""
from stoker import configuration, posix

STEPS, BATCH = 40, 16
ENDLESS = ("device={type: emulated, step_ms: 2}", "training.max_steps=1000000", "training.epochs=100000",
           "checkpoint={type: none}")


def recorded(*sinks):
    return configuration(
        tiers={"slow": posix("slow")}, decoder="{type: turbojpeg, size: 48}", optimizer="{type: sgd, lr: 0.001}",
        training=f"{{max_steps: {STEPS}, epochs: 9}}", evaluation="{every_epochs: 1}",
        checkpoint="{type: direct, slow: slow, every_steps: 15}",
        metrics=f"{{every_steps: 5, sinks: [{', '.join(f'{{type: {sink}}}' for sink in sinks)}]}}")
