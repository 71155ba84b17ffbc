import type { Command } from "commander";
import { expect, it } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { createTestContext } from "../support/cli.ts";

function pathsOf(command: Command, path: string[] = []): string[][] {
  return command.commands.flatMap((child) => [
    [...path, child.name()],
    ...pathsOf(child, [...path, child.name()]),
  ]);
}

const paths = pathsOf(buildProgram(createTestContext().context));

it("has every command that was promised", () => {
  const names = paths.map((path) => path.join(" "));
  const promised = [
    ...[
      "serve",
      "setup",
      "status",
      "doctor",
      "test",
      "check",
      "explain",
      "backtest",
      "backup",
      "sandbox",
      "demo",
    ],
    ...["list", "show", "tail", "resend", "export"].map((name) => `alerts ${name}`),
    ...["add", "list", "remove"].map((name) => `mutes ${name}`),
  ];
  expect(promised.filter((name) => !names.includes(name))).toEqual([]);
});
