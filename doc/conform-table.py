#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tables of results in doc/conform.md, made of the reports that `uipoib conform --json` writes.

    doc/conform-table.py TABLE COLUMN=REPORT.json...                        compare: each difference is printed, and the status is 1
    CONFORM_TABLES=make doc/conform-table.py TABLE COLUMN=REPORT.json...    write the columns

TABLE is the name of a profile. Its table stands in the page between <!-- conform TABLE --> or <!-- conform TABLE REGEX -->, which chooses
cases by their ids, and <!-- end -->. The first column's report has all rows; the reports of other columns may have fewer, and their
other rows, and columns that are not named, stay as they are. With CONFORM_TABLES=make a table that is not there is added at the end.
"""
import json
import os
import re
import sys

PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "conform.md")
NOT_YET = "-"


class Table:
    def __init__(self, regex, lines):
        self.regex, self.columns, self.titles, self.results = regex, [], {}, {}
        rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
        if rows:
            self.columns = rows[0][2:]
        for case, title, *results in rows[2:]:
            self.titles[case] = title
            self.results[case] = dict(zip(self.columns, results))

    def lines(self):
        def row(*cells):
            return "| " + " | ".join(cells) + " |"
        yield row("Case", "What is judged", *self.columns)
        yield "|" + "---|" * (2 + len(self.columns))
        for case, title in self.titles.items():
            yield row(case, title, *(self.results[case].get(c, NOT_YET) for c in self.columns))

    def with_reports(self, reports):
        """The table that follows from this one and the reports"""
        new = Table(self.regex, [])
        new.columns = self.columns + [c for c in reports if c not in self.columns]
        chosen = {column: {r["case"]: r for r in report if re.search(self.regex, r["case"])} for column, report in reports.items()}
        rows = chosen.get(new.columns[0])
        new.titles = {case: r["title"] for case, r in rows.items()} if rows is not None else dict(self.titles)
        for case in new.titles:
            new.results[case] = dict(self.results.get(case, {}))
            new.results[case].update((column, report[case]["result"]) for column, report in chosen.items() if case in report)
        return new


def differences(old, new):
    for case in old.titles.keys() - new.titles.keys():
        yield f"{case}: in doc/conform.md, but there is no such case"
    for case, title in new.titles.items():
        if case not in old.titles:
            yield f"{case}: not in doc/conform.md"
        elif old.titles[case] != title:
            yield f"{case}: is called “{title}”, in doc/conform.md “{old.titles[case]}”"
        for column, result in new.results[case].items():
            was = old.results.get(case, {}).get(column, NOT_YET)
            if case in old.titles and was != result:
                yield f"{case}, {column}: {result}, in doc/conform.md {was}"
    if old.titles.keys() == new.titles.keys() and list(old.titles) != list(new.titles):
        yield "the order of the cases is another than in doc/conform.md"


def find(page, name):
    """Beginning and end of the lines between the marks, and the regular expression; None if there are none"""
    mark = re.search(rf"^<!-- conform {re.escape(name)}(?: (\S+))? -->\n", page, re.MULTILINE)
    if not mark:
        return None
    return mark.end(), page.index("<!-- end -->", mark.end()), mark.group(1) or "."


def main():
    if len(sys.argv) < 3 or not all("=" in a for a in sys.argv[2:]):
        sys.exit("usage: conform-table.py TABLE COLUMN=REPORT.json...")
    name, reports = sys.argv[1], {}
    for argument in sys.argv[2:]:
        column, path = argument.rsplit("=", 1)
        with open(path, encoding="utf-8") as f:
            reports[column] = json.load(f)["conform"]
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    make = os.environ.get("CONFORM_TABLES") == "make"
    place = find(page, name)
    if not place and make:
        page += f"\n### {name}\n\n<!-- conform {name} -->\n<!-- end -->\n"
        place = find(page, name)
    if not place:
        sys.exit(f"doc/conform.md has no table {name}: run the test with CONFORM_TABLES=make")
    begin, end, regex = place
    old = Table(regex, page[begin:end].splitlines())
    new = old.with_reports(reports)
    if make:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(page[:begin] + "\n".join(new.lines()) + "\n" + page[end:])
        return 0
    faults = list(differences(old, new))
    for fault in faults:
        print(fault)
    if faults:
        print("CONFORM_TABLES=make in the environment of the test writes the table")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
