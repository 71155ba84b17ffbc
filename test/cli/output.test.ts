import { describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { type CliContext, OutputClosed } from "../../src/cli/shell/context.ts";
import { reportFailure } from "../../src/cli/shell/failure.ts";
import { createStyle, openOutput } from "../../src/cli/shell/output.ts";
import { AppError } from "../../src/core/errors.ts";
import { createTestContext, runTocsin } from "../support/cli.ts";

function open(options: { json: boolean }, overrides: Partial<CliContext> = {}) {
  const test = createTestContext(overrides);
  return { ...test, output: openOutput(test.context, options.json) };
}

it("a list that fails before its first item is an error document like any other", async () => {
  const { output, stdout, context } = open({ json: true });
  const failing = output.list(() => Promise.reject(new AppError("upstream_forbidden", "no")));
  await reportFailure(await failing.catch((thrown: unknown) => thrown), context, true);
  expect(JSON.parse(stdout())).toEqual({ error: { code: "upstream_forbidden", message: "no" } });
});

describe("a failure", () => {
  it.each([["usage"], ["config_invalid"]] as const)("has status 2 for %s", async (code) => {
    expect(await reportFailure(new AppError(code, "x"), createTestContext().context, false)).toBe(2);
  });

  it("that nobody expected shows no stack", async () => {
    const { context, stderr } = createTestContext();
    expect(await reportFailure(new TypeError("x is undefined"), context, false)).toBe(1);
    expect(stderr()).toContain("x is undefined");
    expect(stderr()).not.toContain("    at ");
  });

  it("shows a stack with LOG_LEVEL=debug", async () => {
    const { context, stderr } = createTestContext({ env: { LOG_LEVEL: "debug" } });
    await reportFailure(new TypeError("x is undefined"), context, false);
    expect(stderr()).toContain("    at ");
  });

  it("cannot play with the reader's terminal", async () => {
    const { context, stderr } = createTestContext();
    await reportFailure(new AppError("failed", "\u001b[2Jgone\rok\nsecond line"), context, false);
    expect(stderr()).toBe("error: \\x1b[2Jgone ok\nsecond line\n");
  });
});

describe("a reader that goes away", () => {
  const closed: CliContext["stdout"] = {
    write: (_text, callback) => callback(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
  };

  it("ends the command quietly and well", async () => {
    const { output, context, stderr } = open({ json: false }, { stdout: closed });
    const thrown = await output.print("x").catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(OutputClosed);
    expect(await reportFailure(thrown, context, false)).toBe(0);
    expect(stderr()).toBe("");
  });

  it("does not hide the status of a failure", async () => {
    const { context } = createTestContext({ stdout: closed, stderr: closed });
    expect(await reportFailure(new AppError("failed", "x"), context, true)).toBe(1);
  });
});

it.each([
  ["on a terminal", {}, true, true],
  ["not in a pipe", {}, false, false],
  ["never with NO_COLOR", { NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
  ["in a pipe with FORCE_COLOR", { FORCE_COLOR: "1" }, false, true],
  ["not on a dumb terminal", { TERM: "dumb" }, true, false],
])("colours: %s", (_name, env, terminal, coloured) => {
  expect(createStyle(env, terminal)("red", "x") !== "x").toBe(coloured);
});

it("the progress line is rewritten in place and removed on a terminal", async () => {
  const isTty = { stdin: false, stdout: false, stderr: true };
  const { output, stderr } = open({ json: true }, { isTty, columns: 20 });
  const progress = output.progress;
  await progress.update("a very long text that does not fit");
  await progress.clear();
  expect(stderr()).toBe("\r\u001b[Ka very long text t…\r\u001b[K");
});

it("the progress line is silent elsewhere", async () => {
  const { output, stderr } = open({ json: false });
  await output.progress.update("x");
  expect(stderr()).toBe("");
});

describe("the command line", () => {
  it.each([["chats"], ["alerts", "resend"], ["test"]])(
    "help gives default times as people write them: %s",
    async (...command) => {
      expect((await runTocsin([...command, "--help"])).stdout).toMatch(/\(default:\s+60s\)/);
    },
  );

  it.each([[40], [80]])("help breaks between words at %i columns, all but what is to be copied", async (columns) => {
    const { context, stdout } = createTestContext({ columns });
    await runCli(["sandbox", "--help"], context);
    expect(
      stdout()
        .split("\n")
        .filter((line) => line.length > columns && !line.startsWith("  $ ")),
    ).toEqual([]);
  });

  it.each([
    ["start --for 5", "--for <duration> cannot be '5': a duration is written like 90s", "start"],
    ["upstream ticker ETH", "<pair> cannot be 'ETH': a pair is written BASE/QUOTE", "upstream ticker"],
    ["test --severity loud", "--severity <severity> cannot be 'loud': write one of critical", "test"],
    ["test --severity crtical", "--severity <severity> cannot be 'crtical': did you mean critical?", "test"],
    ["test --to ,", "--to <destination> cannot be ',': give at least one value", "test"],
    ["move --to --from", "--to and --from do not go together", "move"],
    ["upstream assets add x --pool 0x1", "--pool and --chain go together", "upstream assets add"],
    ["backup", "missing required argument 'file'", "backup"],
    ["alrts list", "unknown command 'alrts'\n(Did you mean alerts?)", ""],
  ])("says what is wrong with: tocsin %s", async (words, message, path) => {
    const run = await runTocsin(words.split(" "));
    expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining(`error: ${message}`) });
    expect(run.stderr).toContain(`hint:  see: tocsin ${path === "" ? "" : `${path} `}--help\n`);
  });

  it.each([[["nonsense"]], [["--nonsense"]], [[]], [["upstream", "--nonsense"]]])(
    "refuses %j as wrong usage",
    async (argv) => {
      const run = await runTocsin(argv);
      expect(run).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("error: ") });
      expect(run.stderr).toContain("--help");
    },
  );
});
