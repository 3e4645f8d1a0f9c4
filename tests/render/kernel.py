"""Kernel lines and nvidia-smi snapshots (upstream: open-gpu-kernel-modules, mm/oom_kill.c, drivers/net/ethernet/mellanox)."""

from __future__ import annotations

from tests.render.scene import Node


def kernel(node: Node, at: float, text: str) -> None:
    """A line of the kernel's log; it goes to its own file."""
    node.say(at, text, "kernel")


def gpu_seen(node: Node, at: float, bdf: str, uuid: str) -> None:
    """The line that ties a bus address to a GPU."""
    kernel(node, at, f"NVRM: GPU at PCI:{bdf}: GPU-{uuid}")


def killed_in_cgroup(node: Node, at: float, pid: int, name: str, container: str, rss_kb: int, limit_kb: int) -> None:
    """The OOM killer of a memory cgroup; ``pid`` is the host's."""
    group = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6f1c1f4e_55d3_4a09_9c1b_0d5a3f1c2b77.slice/cri-containerd-{container}.scope"
    kernel(node, at, f"{name} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=987")
    kernel(node, at, f"CPU: 47 PID: {pid} Comm: {name} Tainted: P           OE      6.8.0-60-generic #63-Ubuntu")
    kernel(node, at, "Call Trace:")
    kernel(node, at, " <TASK>")
    kernel(node, at, " dump_stack_lvl+0x76/0xa0")
    kernel(node, at, " oom_kill_process+0x112/0x280")
    kernel(node, at, " mem_cgroup_out_of_memory+0x14b/0x160")
    kernel(node, at, " </TASK>")
    kernel(node, at, f"memory: usage {limit_kb}kB, limit {limit_kb}kB, failcnt 81423")
    kernel(
        node,
        at,
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-{container}.scope,mems_allowed=0-1,oom_memcg={group},task_memcg={group},task={name},pid={pid},uid=0",
    )
    kernel(
        node,
        at,
        f"Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:{rss_kb * 3}kB, anon-rss:{rss_kb}kB, file-rss:412160kB, shmem-rss:1048576kB, UID:0 pgtables:{rss_kb // 420}kB oom_score_adj:987",
    )


def smi(when: str, driver: str, cuda: str, name: str, buses: list[str], used: int = 4, total: int = 143771) -> str:
    """`nvidia-smi` of a node."""
    rows = "".join(
        f"|   {i}  {name:<31}On  |   00000000:{bus}:00.0 Off |                    0 |\n"
        f"| N/A   {31 + i}C    P0             78W /  700W |  {used:7d}MiB / {total:6d}MiB |      0%      Default |\n"
        "|                                         |                        |             Disabled |\n"
        "+-----------------------------------------+------------------------+----------------------+\n"
        for i, bus in enumerate(buses)
    )
    return (
        f"{when}\n"
        "+-----------------------------------------------------------------------------------------+\n"
        f"| NVIDIA-SMI {driver:<23}Driver Version: {driver:<15}CUDA Version: {cuda:<9}|\n"
        "|-----------------------------------------+------------------------+----------------------+\n"
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
        "|                                         |                        |               MIG M. |\n"
        "|=========================================+========================+======================|\n"
        f"{rows}"
        "\n+-----------------------------------------------------------------------------------------+\n"
        "| Processes:                                                                              |\n"
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
        "|=========================================================================================|\n"
        "|  No running processes found                                                             |\n"
        "+-----------------------------------------------------------------------------------------+\n"
    )
