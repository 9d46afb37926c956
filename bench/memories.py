"""A small judged set: what coding agents remember, and what is asked of it. Written by hand for this project.

Of each memory there is a keyword query (words that stand in it), a paraphrase (the same thing in other words) and a
question, as a person or an agent would ask it later. Negative controls ask for what no memory holds: half of them about
other things than programming, half about programming. The two halves of the set are for choosing and for reporting.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["keyword", "paraphrase", "question", "cjk", "negative"]
Half = Literal["choose", "report"]


class Memory(NamedTuple):
    """An entry of a daily file, and what is asked of it."""

    day: str
    time: str
    bullets: tuple[str, ...]
    keyword: str
    paraphrase: str
    question: str


class Judged(NamedTuple):
    """A query, and the memory that answers it."""

    kind: Kind
    query: str
    memory: int | None  # its number; None: there is none
    half: Half


def written(store: Path) -> dict[tuple[str, int], int]:
    """Write the memories as daily files; (file name, line of the heading) -> number of the memory."""
    store.mkdir(parents=True, exist_ok=True)
    where: dict[tuple[str, int], int] = {}
    days: dict[str, list[str]] = {}
    for number, memory in enumerate(MEMORIES):
        lines = days.setdefault(memory.day, [f"## Session {memory.time}", ""])
        where[f"{memory.day}.md", len(lines) + 1] = number
        anchor = f"<!-- session:3f2c9b1e turn:{number:08x} transcript:/home/sam/.pi/agent/sessions/shop/s.jsonl -->"
        lines += [f"### {memory.time}", anchor, *(f"- {bullet}" for bullet in memory.bullets), "", ""]
    for day, lines in days.items():
        (store / f"{day}.md").write_text("\n".join(lines), encoding="utf-8")
    return where


def judged() -> Iterator[Judged]:
    """Every query."""
    for number, memory in enumerate(MEMORIES):
        half: Half = "report" if number % 2 else "choose"
        if memory.bullets[0].isascii():
            yield Judged("keyword", memory.keyword, number, half)
            yield Judged("paraphrase", memory.paraphrase, number, half)
            yield Judged("question", memory.question, number, half)
        else:
            for query in (memory.keyword, memory.paraphrase, memory.question):
                yield Judged("cjk", query, number, half)
    for number, query in enumerate(NEGATIVE):
        yield Judged("negative", query, None, "report" if number % 2 else "choose")


_DAYS = [f"2026-07-{day:02}" for day in range(1, 31)]


def _memories() -> Iterator[Memory]:
    for number, (bullets, keyword, paraphrase, question) in enumerate(_FACTS):
        day, time = _DAYS[number // 3 % len(_DAYS)], f"{9 + number % 3 * 4:02}:{number * 7 % 60:02}"
        yield Memory(day, time, bullets, keyword, paraphrase, question)


_FACTS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        (
            "The agent moved the hot product cache from Varnish to Redis with a TTL of five minutes",
            "The user asked to keep Varnish running until the end of the sprint as a fallback",
        ),
        "Redis TTL product cache",
        "in-memory store with expiry for catalogue items",
        "Where do we keep cached products now?",
    ),
    (
        (
            "The checkout test failed at random because it relied on the order of a dict; sorting the keys fixed it",
            "CI now reruns a failed job once before it reports",
        ),
        "checkout test dict order",
        "flaky unit test caused by nondeterministic iteration",
        "Why was the checkout test unreliable?",
    ),
    (
        (
            "The user decided on PostgreSQL instead of MySQL for the orders service, because of partial indexes",
            "Migration scripts live in db/migrations and are run by alembic upgrade head",
        ),
        "PostgreSQL orders partial indexes",
        "relational database chosen for purchases",
        "Which database did we pick for orders, and why?",
    ),
    (
        (
            "The user prefers small commits with a message in the imperative mood and no emoji",
            "Pull requests are squashed on merge",
        ),
        "commits imperative mood emoji",
        "style of version control messages that the developer likes",
        "How should I write commit messages?",
    ),
    (
        (
            "Login broke for users with a plus sign in their address: the query string was not percent-encoded",
            "Added encodeURIComponent in src/auth/redirect.ts and a regression test",
        ),
        "encodeURIComponent redirect.ts",
        "sign-in problem with special characters in mail addresses",
        "What was wrong with login for addresses with a plus?",
    ),
    (
        (
            "The nightly backup writes to the bucket acme-backups-eu and is kept for 35 days",
            "Restoring takes about forty minutes; the steps are in docs/restore.md",
        ),
        "acme-backups-eu bucket",
        "how long snapshots of the data are retained",
        "How many days do we keep backups?",
    ),
    (
        (
            "The agent replaced moment with date-fns, which cut the bundle by 210 KB",
            "Time zones go through date-fns-tz; never parse dates with new Date(string)",
        ),
        "date-fns moment bundle",
        "smaller library for handling calendar values in the front end",
        "Why did we drop moment?",
    ),
    (
        (
            "Webhooks from Stripe are verified with the raw request body; the JSON middleware must leave that route",
            "The signing secret is in Vault under payments/stripe",
        ),
        "Stripe webhooks raw body signature",
        "checking that payment notifications are authentic",
        "Why do Stripe webhooks bypass the JSON middleware?",
    ),
    (
        (
            "The worker leaked memory because every job registered another listener on the event bus",
            "After the fix resident memory stays at 180 MB over night",
        ),
        "worker memory leak listener event bus",
        "background process kept growing until it was killed",
        "What made the worker run out of memory?",
    ),
    (
        (
            "The user wants tabs of width four in Go files and two spaces everywhere else; see .editorconfig",
            "gofumpt runs before every commit",
        ),
        "gofumpt editorconfig tabs",
        "indentation preferences",
        "How should code be indented here?",
    ),
    (
        (
            "Kubernetes killed the api pods since the liveness probe hit /health, which waits for the database",
            "The probe now uses /livez, which answers at once",
        ),
        "liveness probe livez",
        "containers restarted because a check depended on storage",
        "Why were the api pods restarted all the time?",
    ),
    (
        (
            "Rate limiting is a token bucket of 100 requests a minute and key, in middleware/limit.py",
            "Partners with a contract get 1000",
        ),
        "token bucket middleware limit.py",
        "throttling of clients that call too often",
        "How many requests a minute may a client make?",
    ),
    (
        (
            "The agent pinned numpy below 2 because the wheels of the forecasting package are built against 1.26",
            "To be lifted once forecastlib 3 is out",
        ),
        "numpy pin forecastlib",
        "an old version of the array library is required",
        "Why is numpy pinned?",
    ),
    (
        (
            "Feature flags come from LaunchDarkly; the key new-search is on for ten percent of the accounts",
            "The user wants every flag removed within two releases",
        ),
        "LaunchDarkly new-search flag",
        "gradual rollout of the improved lookup page",
        "For how many accounts is the new search switched on?",
    ),
    (
        (
            "The build was slow because node_modules was not cached: the cache key held the commit hash",
            "With the lock file's hash as key it takes four minutes instead of eleven",
        ),
        "node_modules cache key lock file",
        "continuous integration sped up by reusing dependencies",
        "How did we make the build faster?",
    ),
    (
        (
            "Secrets must never be printed: the logger masks values whose names end in _TOKEN or _KEY",
            "The masking is tested in tests/test_logging.py",
        ),
        "logger masks _TOKEN",
        "hiding credentials in output",
        "How do we keep tokens out of the logs?",
    ),
    (
        (
            "The user chose Terraform over Pulumi, since the operations team knows HCL",
            "State is locked in DynamoDB table tf-locks",
        ),
        "Terraform tf-locks DynamoDB",
        "infrastructure as code tool selected",
        "Which tool do we use to provision infrastructure?",
    ),
    (
        (
            "Images are resized by a Lambda function with sharp; anything over 20 megapixels is refused",
            "Thumbnails are WebP at quality 80",
        ),
        "Lambda sharp WebP thumbnails",
        "shrinking pictures on upload",
        "What happens to very large pictures?",
    ),
    (
        (
            "The search index is rebuilt on Sundays at 03:00 UTC by the cron job reindex-weekly",
            "It must not overlap with the backup, which starts at 04:00",
        ),
        "reindex-weekly cron",
        "weekly schedule for regenerating lookup data",
        "When is the search index rebuilt?",
    ),
    (
        (
            "A deadlock between refunds and invoices: both took the rows in a different order",
            "All code now locks accounts before invoices",
        ),
        "deadlock refunds invoices",
        "two transactions waiting for each other",
        "In which order must rows be locked?",
    ),
    (
        (
            "The user does not want mocks of the database in tests; use the throwaway container from conftest.py",
            "The suite takes ninety seconds with it",
        ),
        "conftest container database mocks",
        "tests should run against a real storage engine",
        "May I mock the database in tests?",
    ),
    (
        (
            "GraphQL queries deeper than eight levels are rejected, after a client brought the gateway down",
            "The limit is GRAPHQL_MAX_DEPTH in the gateway's environment",
        ),
        "GRAPHQL_MAX_DEPTH",
        "protection against overly nested requests",
        "How deep may a GraphQL query be?",
    ),
    (
        (
            "The mobile app crashed on Android 9 because of a missing polyfill for Intl.PluralRules",
            "Added @formatjs/intl-pluralrules, loaded only where it is needed",
        ),
        "Intl.PluralRules Android polyfill",
        "old phones failed on grammatical number formatting",
        "Why did the app crash on old Android phones?",
    ),
    (
        (
            "Logs go to Loki with the labels service and env only; more labels made it fall over",
            "Everything else belongs into the JSON line",
        ),
        "Loki labels service env",
        "too many dimensions overloaded the log storage",
        "Which labels may I put on log lines?",
    ),
    (
        (
            "The user asked for British spelling in all text that customers see",
            "Identifiers stay American, as in color",
        ),
        "British spelling customers",
        "language variant for the interface texts",
        "Do we write colour or color in the interface?",
    ),
    (
        (
            "The agent upgraded Django from 4.2 to 5.1; the only break was USE_L10N, which is gone",
            "Deprecated calls to pytz were replaced with zoneinfo",
        ),
        "Django 5.1 USE_L10N zoneinfo",
        "web framework brought to a newer major release",
        "What broke when we upgraded Django?",
    ),
    (
        (
            "Sessions expire after thirty days without use, and are stored as hashes only",
            "Signing out everywhere deletes all rows of the account",
        ),
        "sessions expire hashes",
        "how long somebody stays signed in",
        "After how long is a user logged out?",
    ),
    (
        (
            "The export to CSV wrote a byte order mark twice, so Excel showed strange characters in the first column",
            "The writer is opened with utf-8-sig now, and the header adds none",
        ),
        "CSV utf-8-sig Excel",
        "spreadsheet download had garbage at the start",
        "Why did Excel show strange characters?",
    ),
    (
        (
            "Deployments happen on Tuesdays and Thursdays before noon; never on Fridays",
            "Whoever deploys watches the dashboard for an hour",
        ),
        "deployments Tuesdays Thursdays",
        "days on which releases go out",
        "May I release on a Friday?",
    ),
    (
        (
            "The agent found that bcrypt cuts passwords after 72 bytes and switched to argon2id",
            "Old hashes are replaced when somebody signs in",
        ),
        "bcrypt argon2id",
        "safer algorithm for storing credentials of people",
        "Which algorithm hashes our passwords?",
    ),
    (
        (
            "Ports: the api listens on 8080, the admin on 8081, metrics on 9102",
            "Only 8080 is open to the outside",
        ),
        "api 8080 admin 8081 metrics 9102",
        "network endpoints of our services",
        "On which port are the metrics?",
    ),
    (
        (
            "The user rejected a rewrite in Rust; profiling showed that 80 percent of the time is spent in one regex",
            "Compiling that regex once brought the parser from 900 to 140 ms",
        ),
        "parser regex profiling Rust",
        "speed problem solved without changing the language",
        "How did we make the parser faster?",
    ),
    (
        (
            "Translations are pulled from Crowdin by scripts/pull_i18n.sh; nobody edits the files by hand",
            "German is complete, French at 70 percent",
        ),
        "Crowdin pull_i18n",
        "localised strings come from an external service",
        "How do I update translations?",
    ),
    (
        (
            "The queue moved from RabbitMQ to SQS, and messages can arrive twice now",
            "Handlers are idempotent by the key in the header x-message-id",
        ),
        "SQS RabbitMQ idempotent x-message-id",
        "duplicate delivery must be tolerated by consumers",
        "Why must handlers be idempotent?",
    ),
    (
        (
            "Prices are integers in cents everywhere; floats lost a cent in about one of 3000 invoices",
            "The type Money in lib/money.ts does the rounding",
        ),
        "Money cents floats lib/money.ts",
        "rounding mistakes with amounts of currency",
        "How do we represent prices?",
    ),
    (
        (
            "The staging certificate ran out because the renewal hook had lost its execute bit",
            "certbot renew now runs from a systemd timer",
        ),
        "certbot renew systemd timer",
        "expired encryption on the test site",
        "Why did the staging certificate expire?",
    ),
    (
        (
            "The user keeps personal notes in docs/private, which must never be committed",
            "It is in .git/info/exclude",
        ),
        "docs/private exclude",
        "folder that has to stay out of the repository",
        "Which folder must not be committed?",
    ),
    (
        (
            "useEffect ran twice in development because of StrictMode; that was no bug",
            "The subscription is cleaned up in the returned function",
        ),
        "useEffect StrictMode twice",
        "React hook executed two times",
        "Why does the effect run twice in development?",
    ),
    (
        (
            "The agent set statement_timeout to 15 seconds for the reporting role, after a report blocked vacuum",
            "Long reports go to the replica",
        ),
        "statement_timeout reporting role",
        "analytic queries are cut off",
        "What is the time limit for report queries?",
    ),
    (
        (
            "Coverage must not fall below 85 percent; the gate is in .github/workflows/test.yml",
            "Generated code is left out",
        ),
        "coverage 85 percent gate",
        "minimum share of tested lines",
        "How much test coverage is required?",
    ),
    (
        (
            "Accounts are deleted thirty days after the request, by the job purge-accounts, as the law wants it",
            "Invoices stay for ten years without the name",
        ),
        "purge-accounts invoices ten years",
        "erasing personal data of people who leave",
        "When is the data of a deleted account removed?",
    ),
    (
        (
            "WebSockets dropped after sixty seconds since the load balancer closes idle connections",
            "The client sends a ping every 25 seconds",
        ),
        "WebSockets ping load balancer idle",
        "live connection was cut off while nothing was sent",
        "Why did WebSockets disconnect after a minute?",
    ),
    (
        (
            "The monorepo uses pnpm workspaces with turbo; npm install breaks the links",
            "Run pnpm -r build before the first test",
        ),
        "pnpm workspaces turbo",
        "package tool required in this repository",
        "Which package manager do we use?",
    ),
    (
        (
            "The agent traced the slow dashboard to 340 queries a page; select_related brought it to 6",
            "nplusone is on in development now",
        ),
        "select_related nplusone dashboard",
        "page was sluggish due to too many database round trips",
        "Why was the dashboard slow?",
    ),
    (
        (
            "Our fork of the pdf library lives at github.com/acme/pdfkit, branch acme-fonts",
            "It embeds the fonts of the invoices; upstream refused the patch",
        ),
        "acme-fonts pdfkit fork",
        "modified dependency for documents with special typefaces",
        "Why do we have a fork of pdfkit?",
    ),
    (
        (
            "The user wants errors reported with what to do next, not only with what went wrong",
            "See ErrorWithHint in core/errors.py",
        ),
        "ErrorWithHint core/errors.py",
        "failure messages should tell the reader how to proceed",
        "What should an error message contain?",
    ),
    (
        (
            "Daylight saving broke the weekly report: it was scheduled in local time and ran twice in October",
            "All schedules are in UTC since then",
        ),
        "daylight saving weekly report UTC",
        "clock change led to a duplicate run",
        "Why did the report run twice?",
    ),
    (
        (
            "The public API is versioned by the header Accept-Version; paths without it get version 3",
            "Version 2 ends on the first of December",
        ),
        "Accept-Version header",
        "how clients choose an interface revision",
        "When is version 2 of the API switched off?",
    ),
    (
        (
            "用户决定把热缓存从 Varnish 迁移到 Redis,过期时间为五分钟",
            "代理更新了部署脚本",
        ),
        "Redis 热缓存",
        "缓存迁移",
        "缓存的过期时间是多少?",
    ),
    (
        (
            "支付回调的签名校验失败,原因是请求体被提前解析",
            "修复后增加了回归测试",
        ),
        "签名校验",
        "支付回调失败的原因",
        "为什么支付回调的签名校验失败?",
    ),
    (
        (
            "ユーザーは金曜日にデプロイしないことを決めた",
            "エージェントは手順書を更新した",
        ),
        "金曜日 デプロイ",
        "デプロイしない曜日",
        "金曜日にデプロイしてもいいですか",
    ),
    (
        (
            "データベースのデッドロックは行をロックする順序が原因だった",
            "請求書より先にアカウントをロックする",
        ),
        "デッドロック",
        "行をロックする順序",
        "デッドロックの原因は何でしたか",
    ),
    (
        (
            "사용자는 테스트에서 데이터베이스를 모킹하지 않기로 결정했다",
            "컨테이너를 사용한다",
        ),
        "데이터베이스 모킹",
        "테스트에서 모킹하지 않기",
        "테스트에서 데이터베이스를 모킹해도 되나요?",
    ),
    (
        (
            "内存泄漏是因为每个任务都在事件总线上注册了新的监听器",
            "修复之后内存保持在一百八十兆",
        ),
        "内存泄漏 监听器",
        "事件总线上的监听器",
        "内存泄漏的原因是什么?",
    ),
)  # fmt: skip

MEMORIES = tuple(_memories())

NEGATIVE = (
    "How do I bake sourdough bread with a dark crust?",
    "What is the capital of Mongolia?",
    "Plan a birthday party for a six year old",
    "Who won the football world cup in 1998?",
    "Recommend a novel by Virginia Woolf",
    "How tall is Mount Kilimanjaro?",
    "Symptoms of vitamin D deficiency",
    "Write a poem about autumn leaves",
    "Best hiking trails in Patagonia",
    "How do I prune an apple tree in winter?",
    "Translate good morning into Portuguese",
    "What should I wear to a wedding in the garden?",
    "How many calories does a banana have?",
    "Explain how a violin is tuned",
    "Why is the sky blue?",
    "Train my dog not to bark at the postman",
    "When did the Roman empire fall?",
    "Knitting pattern for a winter hat",
    "Is it safe to eat raw oysters in summer?",
    "What does a marathon training plan look like?",
    "How do whales sleep?",
    "Change a flat bicycle tyre",
    "Chess opening against the Sicilian defence",
    "Remove red wine from a carpet",
    "How does photosynthesis work?",
    "Paint a wooden fence before it rains",
    "Which planets have rings?",
    "Teach children to swim",
    "How to fold a paper crane",
    "History of jazz in New Orleans",
    "Implement a red-black tree in Haskell",
    "How do I center a div with flexbox?",
    "Write an Arduino sketch that blinks an LED",
    "Explain monads with an example",
    "Set up a Minecraft server on a Raspberry Pi",
    "How do I quit vim?",
    "Solve the travelling salesman problem with simulated annealing",
    "Convert a LaTeX thesis into an e-book",
    "Difference between a semaphore and a mutex",
    "Train a convolutional network on handwritten digits",
    "Write a shader for water reflections",
    "How does a Bloom filter work?",
    "Parse a PNG file in assembly language",
    "Configure emacs for writing Clojure",
    "What is the Y combinator?",
    "Port the game to the Nintendo Switch",
    "Simulate a quantum circuit with four qubits",
    "Draw a Mandelbrot set with CUDA",
    "Explain the borrow checker to a beginner",
    "Reverse a linked list without recursion",
    "Write a bootloader for RISC-V",
    "Decode Morse code from an audio file",
    "Why is my Bluetooth headset not pairing with Ubuntu?",
    "Compile the Linux kernel with clang",
    "Detect faces in a webcam stream with OpenCV",
    "Generate a maze with Prim's algorithm",
    "Create a pivot table in LibreOffice",
    "Explain Conway's game of life",
    "Calculate the trajectory of a rocket in Fortran",
    "How do I dual boot Windows and Fedora?",
)
