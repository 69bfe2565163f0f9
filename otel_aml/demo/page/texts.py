"""What the page says beside the notices, in English and in Chinese."""

# ruff: noqa: ISC004, RUF001 - a text may take two lines; Chinese is written with its own punctuation
from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCALES: Final = ("en", "zh")
_TEXTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "name": ("AML copilot", "反洗钱助手"),
        "demo": ("Demo with made-up data", "演示，数据均为虚构"),
        "skip": ("Skip to the content", "跳到正文"),
        "investigations": ("Investigations", "调查"),
        "queue": ("Queue", "队列"),
        "working_as": ("Working as", "当前身份"),
        "switch": ("Switch", "切换"),
        "language": ("中文", "English"),
        "analyst": ("analyst", "分析员"),
        "senior": ("senior analyst", "高级分析员"),
        "officer": ("compliance officer", "合规官"),
        "list_lead": (
            "Each investigation goes through four steps. Choose one to continue.",
            "每项调查分为四个步骤。请选择一项继续。",
        ),
        "case": ("Case", "案件"),
        "account": ("Account", "账户"),
        "step_of": ("Step {n} of 4", "第 {n} 步，共 4 步"),
        "evidence": ("Evidence", "证据"),
        "typology": ("Typology", "类型判断"),
        "draft": ("SAR draft", "报告草稿"),
        "review": ("Review", "复核"),
        "state_todo": ("Not started", "未开始"),
        "state_now": ("Your turn", "等待您处理"),
        "state_done": ("Done", "已完成"),
        "state_failed": ("Needs attention", "需要处理"),
        "state_held": ("Held back", "已暂缓"),
        "state_colleague": ("With a colleague", "同事处理中"),
        "state_waiting": ("Waiting for review", "等待复核"),
        "state_in_review": ("In review", "复核中"),
        "state_error": ("The failed step waits here", "失败步骤在此等候"),
        "state_returned": ("Returned", "已退回"),
        "state_approved": ("Approved", "已批准"),
        "state_rejected": ("Closed", "已关闭"),
        "steps": ("Steps of the investigation", "调查步骤"),
        "evidence_lead": (
            "Tick the transactions that you have checked. The copilot continues with them.",
            "请勾选您已核对的交易，助手将据此继续。",
        ),
        "tick": ("Confirmed", "已确认"),
        "transaction": ("Transaction", "交易"),
        "when_": ("When", "时间"),
        "from_": ("From", "付款方"),
        "to_": ("To", "收款方"),
        "amount": ("Amount, USD", "金额（美元）"),
        "know_already": ("What you know already", "您已掌握的信息"),
        "know_lead": (
            "Optional. What you write here stands in the draft as you wrote it.",
            "选填。您填写的内容将原样写入草稿。",
        ),
        "confirm": ("Confirm the evidence and go on", "确认证据并继续"),
        "who": ("Who", "主体"),
        "what": ("What", "事项"),
        "when": ("When", "时间范围"),
        "where": ("Where", "地点"),
        "why": ("Why", "原因"),
        "how": ("How", "方式"),
        "cited": ("Cited transactions", "引用的交易"),
        "not_in_records": ("not found in the records", "记录中未找到"),
        "review_lead": (
            "The draft is ready. Read it, correct what needs it, and send it to a colleague. "
            "Nothing is filed without approval.",
            "草稿已就绪。请阅读并修改，然后交由同事复核。未经批准不会提交。",
        ),
        "send": ("Send for approval", "提交审批"),
        "with_reviewer": (
            "The draft is with a colleague for approval. Your work is saved; you need do nothing now.",
            "草稿正由同事审批。您的工作已保存，现在无需操作。",
        ),
        "finished": ("The draft was approved. This investigation is finished.", "草稿已批准，本调查已完成。"),
        "rejected": (
            "A colleague closed this investigation. Your work is kept.",
            "同事已关闭本调查。您的工作已保留。",
        ),
        "returned_to_you": ("Returned to you by {by}", "{by} 已退回给您"),
        "says": ("{by} says", "{by} 的意见"),
        "so_far": ("Done so far", "已完成的内容"),
        "nothing_yet": ("Nothing yet.", "暂无。"),
        "confirmed_count": ("Confirmed evidence", "已确认的证据"),
        "show_confirmed": ("Show the confirmed evidence", "显示已确认的证据"),
        "edited_count": ("Edited fields", "已编辑的字段"),
        "history": ("Decisions", "决定记录"),
        "not_yours": (
            "This investigation belongs to {author}. You can read it, and decide on it in the queue.",
            "本调查由 {author} 负责。您可以查看，并在队列中作出决定。",
        ),
        "stale": (
            "The page had changed in the meantime, so your last click changed nothing. This is how it stands now.",
            "页面内容已更新，您上次的操作没有生效。以下是最新状态。",
        ),
        "no_evidence": ("Tick at least one transaction before you go on.", "请至少勾选一笔交易后再继续。"),
        "queue_lead": (
            "Failed steps and finished drafts wait here for a colleague, the most urgent first.",
            "失败的步骤和完成的草稿在此等候同事处理，最紧急的排在最前。",
        ),
        "queue_empty": ("Nothing waits. Well done.", "没有等待处理的任务。"),
        "kind_error_review": ("A step failed", "步骤失败"),
        "kind_sar_approval": ("Draft to approve", "待审批草稿"),
        "task_waiting": ("Free to take", "可认领"),
        "task_claimed": ("Held by {by}", "{by} 处理中"),
        "task_decided": ("Decided by {by}", "{by} 已决定"),
        "asked": ("Waiting", "已等待"),
        "overdue": ("overdue", "已超时"),
        "minutes": ("{n} min", "{n} 分钟"),
        "hours": ("{n} h", "{n} 小时"),
        "what_happened": ("What happened", "发生了什么"),
        "is_finished": (
            "A draft is finished and waits for approval. Nothing is filed before that.",
            "草稿已完成，等待审批。审批之前不会提交。",
        ),
        "is_safe": ("What is safe", "已保存的内容"),
        "is_safe_lead": (
            "All of this is saved as it stood. Nothing has been sent or filed.",
            "以下内容均已原样保存，尚未提交任何内容。",
        ),
        "code": ("Code", "代码"),
        "reference": ("Reference", "编号"),
        "goes_on": ("Steps done and to come", "已完成与待完成的步骤"),
        "plan_done": ("Done, will not run again", "已完成，不会重新运行"),
        "plan_enter": ("Continues here once decided", "决定后从这里继续"),
        "plan_left": ("Still to come", "尚待完成"),
        "next": ("What to do next", "下一步"),
        "take": ("Take this task", "认领此任务"),
        "take_lead": (
            "You can be the colleague who does this. Take it, and nobody else can decide it meanwhile. "
            "If you do nothing for 15 minutes, it goes back to the queue. Once you have taken it you can choose:",
            "您可以作为同事处理此任务。认领期间其他人无法处理；15 分钟没有操作，任务将回到队列。认领后您可以选择：",
        ),
        "release": ("Give it back", "放回队列"),
        "held_by_you": (
            "This task is yours for another {left}. Working on this page renews that; "
            "if you do nothing until then, it goes back to the queue.",
            "此任务由您处理，还剩 {left}。您在本页操作时会自动续期；到时没有操作，任务将回到队列。",
        ),
        "not_held_any_more": (
            "This task is not held for you any more. What you have written still stands here, "
            "and your decision counts unless another person has taken the task.",
            "此任务不再由您独占。您填写的内容仍在此处；若他人尚未认领，您的决定仍然有效。",
        ),
        "ask_sar_approval": (
            "Read the draft, then approve it, correct it, or send it back.",
            "请阅读草稿，然后批准、修改或退回。",
        ),
        "ask_tool_failure": (
            "See that the service works again, then have the step run again.",
            "请确认服务已恢复，然后重新运行该步骤。",
        ),
        "ask_format_violation": (
            "Have the step run again, or say what is missing and send it back.",
            "请重新运行该步骤，或说明缺少的内容并退回。",
        ),
        "ask_hallucination": (
            "Look for the entry in the records: take it out of the draft, or send the draft back.",
            "请在记录中查找该条目：将其从草稿中移除，或退回草稿。",
        ),
        "ask_retrieval_miss": (
            "See that the guidance can be found, then have the step run again.",
            "请确认可以找到所需指引，然后重新运行该步骤。",
        ),
        "ask_context_pollution": (
            "Read the draft beside the guidance, and correct what does not follow it.",
            "请对照指引阅读草稿，修改不符之处。",
        ),
        "ask_typology_misjudge": (
            "Read the draft, see whether its typology is right, and correct it if not.",
            "请阅读草稿，判断其类型是否正确，如有误请修改。",
        ),
        "missing": ("Cited in the draft, not found in the records:", "草稿引用、但记录中未找到："),
        "held_by_other": (
            "{by} holds this task. You can look at it; it is free again at {until} UTC.",
            "{by} 正在处理此任务。您可以查看；{until}（UTC）后可再次认领。",
        ),
        "own_work": ("This is your own work: another person must decide it.", "这是您自己的工作，须由他人决定。"),
        "the_draft": ("The draft", "草稿"),
        "choose": ("Your decision", "您的决定"),
        "choice_retry": ("Run the step again", "重新运行该步骤"),
        "choice_retry_lead": (
            "It continues from where it stopped, with all that is saved.",
            "从中断处继续，保留全部内容。",
        ),
        "choice_edit": ("Use it with my corrections", "采用我的修改"),
        "choice_edit_lead": ("What you changed in the draft counts.", "以您修改后的草稿为准。"),
        "choice_approve": ("Use it as it is", "按原样采用"),
        "choice_approve_lead": ("The draft is right as it stands.", "草稿无需修改。"),
        "choice_returned": ("Send it back to the analyst", "退回给分析员"),
        "choice_returned_lead": ("Say in the comment what to change.", "请在意见中说明需要修改的内容。"),
        "choice_reject": ("Close the investigation", "关闭调查"),
        "choice_reject_lead": ("It stops here; the work is kept.", "到此为止，工作内容将保留。"),
        "comment": ("Comment", "意见"),
        "decide": ("Record my decision", "记录我的决定"),
        "decided_so": ("Decided", "已决定"),
        "to_investigation": ("Open the investigation", "打开调查"),
        "back_to_queue": ("Back to the queue", "返回队列"),
        "edited_not_chosen": (
            "You changed the draft but chose something else. Choose “Use it with my corrections”, or undo the change.",
            "您修改了草稿，但选择了其他决定。请选择“采用我的修改”，或撤销修改。",
        ),
        "still_not_in_records": (
            "The draft still cites an entry that is not in the records. Untick it first.",
            "草稿仍引用了记录中不存在的条目，请先取消勾选。",
        ),
        "still_incomplete": ("A field of the draft is still empty or wrong.", "草稿中仍有字段为空或有误。"),
        "no_choice": ("Choose one of the decisions.", "请选择一项决定。"),
        "no_comment": ("Say in the comment what to change.", "请在意见中说明需要修改的内容。"),
        "held": ("Another person holds this task now. Nothing was changed.", "此任务现由他人处理，未作任何更改。"),
        "already": ("This task is decided already. Nothing was changed.", "此任务已有决定，未作任何更改。"),
        "not_allowed": ("You cannot decide this task. Nothing was changed.", "您无法决定此任务，未作任何更改。"),
        "refused": ("That could not be taken. Nothing was changed.", "无法接受该操作，未作任何更改。"),
        "not_found": ("There is no such page.", "没有此页面。"),
        "broken": (
            "Something went wrong. Nothing you saved is lost. Load the page again.",
            "出错了。已保存的内容没有丢失，请重新加载。",
        ),
        "home": ("To the investigations", "返回调查列表"),
        "open": ("Open", "打开"),
        "read_again": ("Look", "查看"),
    }
)  # fmt: skip


def text(key: str, locale: str, **values: object) -> str:
    """Pick a text; its places take what the page itself knows."""
    found = _TEXTS[key][LOCALES.index(locale)]
    return found.format(**values) if values else found


def has(key: str) -> bool:
    """Whether there is such a text."""
    return key in _TEXTS
