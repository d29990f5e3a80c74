"""A disordered stream and a window query in one process, with no Spark and no clock.

The stream has exponential delays of half a second in the mean. The query waits for one
second, so some tuples come too late: they leave as rows of kind 'late'.
"""

import slackwater as sw
from slackwater.streams import DisorderedStream

QUERY = """
SELECT key, COUNT(*) AS n, MAX(value) AS high
FROM S [RANGE 5 seconds, SLIDE 1 second, WATTR ts, SLACK 1 second]
GROUP BY key
"""


def main() -> None:
    stream = DisorderedStream(rate=100, keys=3, delay="exponential", delay_mean=0.5, seed=1)
    running = sw.replayer(QUERY, {"S": stream.schema})
    late = 0
    for second, page in enumerate(stream.pages(seconds=60)):
        rows = running.feed(page.slice(0, 5000 - running.report.input)).to_pylist()
        late += sum(row["tuples"] for row in rows if row["kind"] == "late")
        if second == 30:
            print(*rows, sep="\n")
    account = running.report
    print(f"{account.input} tuples in, {account.in_windows + late} accounted for")
    print(f"{account.in_windows} in windows, {late} late, heartbeat {account.heartbeat}")


if __name__ == "__main__":
    main()
