"""Verdicts made by hand, for tests of what is shown rather than of what is found."""

from __future__ import annotations

from k3logs import model

BASE = 1_785_931_202_123_000_000  # 2026-08-05T12:00:02.123Z
EVIL = "\x1b[31mred\x1b[0m \u202egnp.exe\u2066 \x9b2J \x00 \r hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345 ```\n<b>@all</b>"


def suspect(**changes: object) -> model.Suspect:
    """A worker whose registration of GPU memory with the NIC was refused."""
    fields: dict[str, object] = {
        "rank": 3, "ranks": [3], "node": "node-02", "process": "Worker_TP3", "pid": 4121,
        "time": BASE, "time_low": BASE, "time_high": BASE + 1_000_000_000,
        "source": "node-02.log", "line": 1234,
        "raw": "node-02:4121:4380 [3] ibvwrap.cc:172 NCCL WARN Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524",
        "message": "Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524",
        "exception": None, "signature": "NCCL001", "role": "initiating", "phase": "distributed_init", "category": "interconnect",
        "confidence": 0.87, "why": ["NCCL warned here before `unhandled system error` was raised.", "Earliest of 16 failures on the aligned clock."],
        "details": {"errno": 524, "observed": True}, "stamp": "[2026-08-05 12:00:02]", "time_basis": "assumed",
        "fingerprint": "3f2a9c01d4e5", "title": "Registration of GPU memory with the NIC refused",
        "context": [model.ContextLine(1233, "node-02:4121:4380 [3] NCCL INFO NET/IB : GPU Direct RDMA Enabled"),
                    model.ContextLine(1234, "node-02:4121:4380 [3] ibvwrap.cc:172 NCCL WARN Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524", True),
                    model.ContextLine(1235, "node-02:4121:4380 [3] NCCL INFO transport/net_ib.cc:1100 -> 2")],
    }  # fmt: skip
    return model.Suspect(**(fields | changes))  # type: ignore[arg-type]


def verdict(**changes: object) -> model.Verdict:
    """A failure on two nodes of eight ranks with every part filled in."""
    fields: dict[str, object] = {
        "version": "0.0.0", "outcome": "failure",
        "sentence": "Rank 3 on node-02 failed first, in distributed_init: the NIC refused to register GPU memory (error 524).",
        "root_cause": suspect(), "alternatives": [suspect(rank=11, ranks=[11], node="node-03", source="node-03.log", line=77, confidence=0.2)],
        "ranks": [model.RankState(3, "node-02", "Worker_TP3", 4121, "root", "distributed_init", "Unknown error 524", BASE),
                  *(model.RankState(n, "node-02", f"Worker_TP{n}", 4118 + n, "victim", "distributed_init") for n in (0, 1, 2, 4, 5)),
                  model.RankState(None, "node-02", "EngineCore_DP0", 99, "victim", "distributed_init")],
        "clocks": [model.ClockOffset("node-02", 0.0, 0.0, 0.0, 0), model.ClockOffset("node-03", 1.25, 1.2, 1.3, 8, 2.0),
                   model.ClockOffset("node-04", None, None, None, 0)],
        "consistency": [model.Difference("nccl_version", "warning", {"2.27.3": ["node-02"], "2.28.1": ["node-03"]})],
        "environment": {"nccl_version": [model.Fact("2.27.3", "node-02", 3, "node-02.log", 12)]},
        "actions": [model.Action("Set NCCL_DMABUF_ENABLE=0 for one run.", "nvidia_peermem is loaded on every node.", ["node-02.log:1234"],
                                 ["lsmod | grep nvidia_peermem", "ibv_devinfo"], ["Do not change the driver first: 524 can also be a topology refusal."])],
        "findings": [model.Finding("request_errors", "2 requests failed while the server lived.", ["node-02.log:50"])],
        "missing": ["The kernel log of node-02: journalctl -k --since '2026-08-05 11:59'"],
        "coverage": model.Coverage(12345, 1_400_000, 12000, 2, ["node-05.log: not read (Permission denied)"], {"nccl": 5000, "vllm": 7000}),
        "route": "ranks_and_transport",
        "runs": [model.Run(1, BASE, BASE + 60_000_000_000, "failure", "distributed_init", True), model.Run(2, BASE, None, "failure", "config", False)],
        "consequences": [model.Consequence("Remote peer closed the NCCL connection", "cascade", 48, [0, 1, 2, 4, 5], "node-02.log", 1300)],
    }  # fmt: skip
    return model.Verdict(**(fields | changes))  # type: ignore[arg-type]


def evil() -> model.Verdict:
    """Every text holds what must not reach a terminal, a ticket or a colleague."""
    return verdict(
        sentence=EVIL, root_cause=suspect(raw=EVIL, message=EVIL, node=EVIL, process=EVIL, source=EVIL, stamp=EVIL, why=[EVIL], title=EVIL, group=EVIL,
                                          details={EVIL: EVIL}, exception=model.ExceptionText(EVIL, EVIL, [EVIL]), context=[model.ContextLine(1, EVIL, True)]),
        alternatives=[suspect(message=EVIL)], ranks=[model.RankState(None, EVIL, EVIL, 1, "victim", "serving", EVIL)],
        clocks=[model.ClockOffset(EVIL, None, None, None, 0), model.ClockOffset("b", 0.0, 0.0, 0.0, 0)],
        consistency=[model.Difference(EVIL, "error", {EVIL: [EVIL]})], environment={"args": [model.Fact(EVIL, EVIL, 0, EVIL, 1)]},
        actions=[model.Action(EVIL, EVIL, [EVIL], [EVIL], [EVIL])], findings=[model.Finding("stalls", EVIL, [EVIL])], missing=[EVIL],
        coverage=model.Coverage(1, 1, 1, 1, [EVIL], {EVIL: 1}), consequences=[model.Consequence(EVIL, "cascade", 1, [1], EVIL, 1)],
    )  # fmt: skip
