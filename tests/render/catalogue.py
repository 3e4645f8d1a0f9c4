"""Which scenes exist. The slug is also the folder below ``corpus/``."""

from __future__ import annotations

from importlib import import_module

from tests.render.scene import Scene

SCENES = {
    "dmabuf-524": "incidents.dmabuf_524",
    "hang-lagging-rank": "incidents.hang_lagging_rank",
    "xid-79": "incidents.xid_79",
    "ib-port-down": "incidents.ib_port_down",
    "driver-too-old": "incidents.driver_too_old",
    "oom-killer": "incidents.oom_killer",
    "spmd-config": "incidents.spmd_config",
    "runtime-refusal": "incidents.runtime_refusal",
    "duplicate-gpu": "incidents.duplicate_gpu",
    "node-never-joined": "incidents.node_never_joined",
    "healthy/nccl-init-retries": "healthy.nccl_init_retries",
    "healthy/serving-quoted-errors": "healthy.serving_quoted_errors",
    "healthy/clean-sigterm": "healthy.clean_sigterm",
    "healthy/handled-exceptions": "healthy.handled_exceptions",
    "healthy/ray-kernel-noise": "healthy.ray_kernel_noise",
    "healthy/slow-compile": "healthy.slow_compile",
}


def load(slug: str) -> Scene:
    """Build the scene of that slug. Raises KeyError for an unknown slug."""
    scene: Scene = import_module(f"tests.render.{SCENES[slug]}").scene()
    scene.slug = slug
    return scene
