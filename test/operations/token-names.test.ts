import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { AppError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import { Breaker } from "../../src/operations/questions.ts";
import { type NameService, nameOfPool, readSymbols, TokenNames } from "../../src/operations/token-names.ts";
import { anAlert } from "../support/facts.ts";
import { keepStates } from "../support/kept-states.ts";
import { runDuty } from "../support/run-duty.ts";
import { createTestClock, day, hour, minute } from "../support/test-clock.ts";

const addressOf = (number: number) => `0x${number.toString(16).padStart(40, "0")}`;

function bare(number: number, given: Partial<AlertFacts> & { kind?: string } = {}): AlertFacts {
  const { chain = "eth", kind = "token", ...over } = given;
  return anAlert({ metric: `${chain}_${kind}_total_tvl_${addressOf(number)}`, ...over });
}

/** A service that calls token 1 `T1`, and what it was asked. */
async function open({
  kept = new Map<string, unknown>(),
  clock = createTestClock(),
  isShared = false,
  timeLimitMs = 300_000,
  mostAnHour = 60,
} = {}) {
  const asked: { chain: string; addresses: string[] }[] = [];
  const service: { answer(address: string): string | undefined | Promise<never> } = {
    answer: (address) => `T${Number(address)}`,
  };
  const breaker = new Breaker(clock);
  const tokens: NameService = {
    breaker,
    mostAtOnce: 50,
    mostAnHour,
    async ask(chain, addresses) {
      asked.push({ chain, addresses: [...addresses] });
      const names = await Promise.all(addresses.map(async (one) => [one, await service.answer(one)] as const));
      return new Map(names.flatMap(([one, name]) => (name === undefined ? [] : [[one.toLowerCase(), name]])));
    },
  };
  const { store, behaviour } = keepStates({ clock, kept });
  const names = await TokenNames.open({
    store,
    isShared,
    services: { token: tokens },
    sources: ["other"],
    clock,
    log: silentLog,
    timeLimitMs,
  });
  const end = runDuty(names);
  const note = (facts: AlertFacts) => names.note({ origin: "hook", facts });
  /** Notes them, and lets a minute pass. */
  const learn = (...all: AlertFacts[]) => {
    for (const facts of all) note(facts);
    return clock.advance(minute);
  };
  const nameOf = (facts: AlertFacts) => names.find(facts)?.name;
  return { clock, behaviour, asked, service, breaker, kept, names, note, learn, nameOf, end };
}

describe("names of what alerts give by address alone", () => {
  it("are asked for in the background, of one chain at a time and some at once, and once", async () => {
    const { clock, asked, note, nameOf } = await open();
    for (const facts of [bare(1), bare(2), bare(3, { chain: "base" }), bare(1)]) note(facts);
    expect(nameOf(bare(1))).toBeUndefined();
    await clock.advance(3_000);
    expect([1, 2].map((number) => nameOf(bare(number)))).toEqual(["T1", "T2"]);
    expect(nameOf(bare(3, { chain: "base" }))).toBe("T3");
    expect(nameOf(bare(3))).toBeUndefined();
    expect(asked).toEqual([
      { chain: "eth", addresses: [addressOf(1), addressOf(2)] },
      { chain: "base", addresses: [addressOf(3)] },
    ]);
    note(bare(1));
    await clock.advance(10 * minute);
    expect(asked).toHaveLength(2);
  });

  it("are asked for where there is no name, in whatever case the address is, and of nobody else's alerts", async () => {
    const { clock, asked, names, note, nameOf, learn } = await open();
    note(bare(1, { token: "USDC" }));
    note(bare(1, { fields: [{ name: "tokenSymbol", value: "USDC" }] }));
    note(bare(1, { metric: undefined, token: "USDC" }));
    note(bare(1, { metric: "TVL of the pool" }));
    note({ ...bare(1), metric: undefined, token: addressOf(1), chain: "eth,base" });
    note(bare(1, { kind: "pool" }));
    note(bare(1, { source: "other" }));
    for (const origin of ["test", "notice"] as const) names.note({ origin, facts: bare(1) });
    await clock.advance(minute);
    expect(asked).toEqual([]);
    const mixed = addressOf(0xabcdef).replace("abcdef", "ABcdEF");
    await learn({ ...bare(1), metric: undefined, token: mixed, chain: "eth" });
    expect(asked).toEqual([{ chain: "eth", addresses: [mixed] }]);
    expect(nameOf(bare(0xabcdef))).toBe("T11259375");
  });

  it("that were learned later are not those of an earlier message", async () => {
    const { clock, names, nameOf, learn } = await open();
    const sentAt = clock.now();
    await clock.advance(5_000);
    await learn(bare(1));
    const subject = { kind: "token", chain: "eth", address: addressOf(1) } as const;
    expect(names.nameOf(subject, sentAt)).toBeUndefined();
    expect(names.nameOf(subject, clock.now())).toBe("T1");
    expect(names.find(bare(1))).toEqual({ ...subject, name: "T1", learnedAt: sentAt + 5_000 });
    expect(nameOf(bare(1))).toBe("T1");
  });

  it("that two on one chain share have the address behind them", async () => {
    const { service, nameOf, learn } = await open();
    service.answer = (address) => ["ONYX", "onyx", "ONYX", "$ONYX."][Number(address) - 1];
    await learn(bare(1), bare(3, { chain: "base" }));
    expect(nameOf(bare(1))).toBe("ONYX");
    await learn(bare(2));
    expect(nameOf(bare(1))).toBe("ONYX 0x0000…0001");
    expect(nameOf(bare(2))).toBe("onyx 0x0000…0002");
    expect(nameOf(bare(3, { chain: "base" }))).toBe("ONYX");
    await learn(bare(4, { chain: "base" }));
    expect(nameOf(bare(3, { chain: "base" }))).toBe("ONYX 0x0000…0003");
  });

  it("that anybody would take, or that another script can imitate, have the address behind them at once", async () => {
    const said = ["USDC", "usdc.", "USD\u0421", "ONYX", "WETH/USDC", "ONYX/USDC", "O\u039dYX"];
    const { clock, service, note, nameOf } = await open();
    service.answer = (address) => said[Number(address)];
    for (const number of said.keys()) note(bare(number));
    await clock.advance(minute);
    expect(said.map((_symbol, number) => nameOf(bare(number)))).toEqual([
      "USDC 0x0000…0000",
      "usdc. 0x0000…0001",
      "USD\u0421 0x0000…0002",
      "ONYX",
      "WETH/USDC 0x0000…0004",
      "ONYX/USDC",
      "O\u039dYX 0x0000…0006",
    ]);
  });

  it("survive a restart, also one that nobody announced", async () => {
    const first = await open();
    first.note(bare(1));
    await first.clock.advance(2 * minute);
    const learnedAt = first.names.find(bare(1))?.learnedAt;
    // Not ended: the process is gone.
    const second = await open({ kept: first.kept });
    await second.clock.settle();
    expect(second.names.find(bare(1))).toMatchObject({ name: "T1", learnedAt });
    second.note(bare(1));
    await second.clock.advance(minute);
    expect(second.asked).toEqual([]);
  });

  it.each([["nothing"], [{ names: [{ kind: "token" }] }], [null], [[]]])(
    "begin anew beside what was kept as %j",
    async (state) => {
      const { clock, note, nameOf } = await open({ kept: new Map([["token-names", state]]) });
      note(bare(1));
      await clock.advance(minute);
      expect(nameOf(bare(1))).toBe("T1");
    },
  );

  it("that several relays learn at once are all kept, and each knows those of the others within half a minute", async () => {
    const kept = new Map<string, unknown>();
    const clock = createTestClock();
    const relays = [await open({ kept, clock, isShared: true }), await open({ kept, clock, isShared: true })] as const;
    const [one, two] = relays;
    // So long that the other reads the same meanwhile.
    for (const { behaviour } of relays) behaviour.readingTakesMs = 1;
    for (let number = 1; number <= 40; number += 1) (number % 2 === 0 ? one : two).note(bare(number));
    await clock.advance(3_000);
    expect([one.nameOf(bare(2)), two.nameOf(bare(2))]).toEqual(["T2", undefined]);
    await clock.advance(30_000);
    for (const { nameOf } of relays) {
      for (let number = 1; number <= 40; number += 1) expect(nameOf(bare(number))).toBe(`T${number}`);
    }
    const { asked } = two;
    two.note(bare(2));
    await clock.advance(minute);
    expect(asked.flatMap(({ addresses }) => addresses)).not.toContain(addressOf(2));
    for (const { behaviour } of relays) behaviour.readingTakesMs = 0;
    await Promise.all(relays.map(({ end }) => end()));
    expect((kept.get("token-names") as { names: unknown[] }).names).toHaveLength(40);
  });

  it("are asked for anew after a week, and the old one is shown meanwhile", async () => {
    const { clock, asked, service, names, nameOf, learn } = await open();
    await learn(bare(1));
    const learnedAt = names.find(bare(1))?.learnedAt;
    await clock.jump(8 * day);
    service.answer = () => undefined;
    await learn(bare(1));
    expect(names.find(bare(1))).toMatchObject({ name: "T1", learnedAt });
    await clock.jump(8 * day);
    service.answer = () => "NEW";
    await learn(bare(1));
    expect(asked).toHaveLength(3);
    expect(nameOf(bare(1))).toBe("NEW");
    expect(names.find(bare(1))?.learnedAt).toBeGreaterThan(learnedAt ?? 0);
  });

  it("that the service does not know are asked for once a day", async () => {
    const { clock, asked, service, note, learn } = await open();
    service.answer = () => undefined;
    for (let time = 0; time < 24; time += 1) {
      note(bare(1));
      await clock.jump(hour - 1_000);
    }
    expect(asked).toHaveLength(1);
    await clock.jump(hour);
    await learn(bare(1));
    expect(asked).toHaveLength(2);
  });

  it("are asked for within a budget in a storm of 1,000 addresses, and in each of many", async () => {
    const { clock, asked, names, note, nameOf } = await open();
    for (let number = 1; number <= 1_000; number += 1) note(bare(number));
    await clock.advance(3 * minute);
    expect(asked.length).toBeLessThanOrEqual(21);
    expect(nameOf(bare(1_000))).toBe("T1000");
    for (let storm = 1; storm < 10; storm += 1) {
      for (let number = 1; number <= 1_000; number += 1) note(bare(storm * 1_000 + number));
      await clock.advance(3 * minute);
    }
    expect(names.calls("token")).toEqual({ made: 60, most: 60 });
    expect(asked).toHaveLength(60);
  });

  it("are not asked for while the service refuses, and are when it does not any more", async () => {
    const { clock, asked, service, breaker, note, nameOf } = await open();
    service.answer = () => Promise.reject(new AppError("upstream_forbidden", "403"));
    note(bare(1));
    await clock.advance(10 * minute);
    expect(asked).toHaveLength(1);
    expect(breaker.isOpen()).toBe(true);
    service.answer = () => "T1";
    await clock.advance(7 * minute);
    expect(nameOf(bare(1))).toBe("T1");
  });

  it("are learned beside an address that the service does not take", async () => {
    const { clock, asked, service, note, nameOf } = await open();
    service.answer = (address) => {
      if (Number(address) === 37) throw new AppError("upstream_rejected", "400");
      return `T${Number(address)}`;
    };
    for (let number = 1; number <= 50; number += 1) note(bare(number));
    await clock.advance(2 * minute);
    const named = Array.from({ length: 50 }, (_, index) => nameOf(bare(index + 1)));
    expect(named.filter((name) => name === undefined)).toHaveLength(1);
    expect(named[36]).toBeUndefined();
    expect(asked.length).toBeLessThanOrEqual(20);
  });

  it("are given up for a chain that the service does not have", async () => {
    const { clock, asked, service, note, nameOf, learn } = await open();
    service.answer = (address) =>
      Number(address) > 100 ? "OTHER" : Promise.reject(new AppError("upstream_rejected", "400"));
    for (let number = 1; number <= 50; number += 1) note(bare(number, { chain: "moon" }));
    await clock.advance(10 * minute);
    expect(asked.length).toBeLessThanOrEqual(10);
    await learn(bare(101));
    expect(nameOf(bare(101))).toBe("OTHER");
  });

  it("that are not said in time are asked for later, and a stop waits for none", async () => {
    const { clock, asked, service, note, nameOf } = await open({ timeLimitMs: 20 });
    let hung = 0;
    service.answer = () => {
      hung += 1;
      return new Promise(() => {});
    };
    note(bare(1));
    while (hung === 0 || asked.length < 2) await clock.advance(10_000);
    expect(nameOf(bare(1))).toBeUndefined();
  });
});

describe("what /tokens answers", () => {
  const [one, other] = [addressOf(0xaa), addressOf(0xbb)];

  const twice = [
    { address: one, symbol: "ONE" },
    { address: one, symbol: "UNO" },
  ];
  const anyCase = { tokenAddress: one.toUpperCase().replace("0X", "0x"), tokenSymbol: "ONE" };
  const noTexts = [
    { address: one, symbol: { toString: "x" } },
    { address: 7, symbol: "S" },
  ];
  const long = { address: one, symbol: "X".repeat(10_000) };
  it.each<[string, Record<string, unknown>[], string?]>([
    ["by the documented address", [{ address: one, symbol: "ONE" }], "ONE"],
    ["under any name, in any case", [anyCase], "ONE"],
    ["the one that was asked for", [{ symbol: "ONE" }]],
    ["nothing of others", [{ address: addressOf(3), symbol: "THREE" }]],
    ["nothing where two differ", twice],
    ["a name where there is no symbol", [{ address: one, symbol: "", name: "Token One" }], "Token One"],
    ["what is no text, as nothing", noTexts],
    ["hostile symbols cleaned", [{ address: one, symbol: "\u202e🚨<b>ONE" }], "bONE"],
    ["of 10 kB, the beginning", [long], `${"X".repeat(19)}…`],
  ])("is read %s", (_how, tokens, name) => {
    expect(Object.fromEntries(readSymbols(tokens, [one, other]))).toEqual(name === undefined ? {} : { [one]: name });
  });

  it("is that of the one that was asked for where it has no address", () => {
    expect([...readSymbols([{ symbol: "ONE", decimals: 6 }], [one])]).toEqual([[one, "ONE"]]);
    expect([...readSymbols([{ symbol: "ONE", id: other }], [one])]).toEqual([]);
  });
});

it("a pool is called by its tokens, where each has a symbol and they are few", () => {
  const named = (...symbols: string[]) => nameOfPool(symbols.map((symbol) => ({ symbol })));
  expect(named("ONYX504", "USDC")).toBe("ONYX504/USDC");
  expect(named("DAI", "USDC", "USDT")).toBe("DAI/USDC/USDT");
  expect(named("a/b", "USDC")).toBe("ab/USDC");
  expect(named("USDC")).toBeUndefined();
  expect(named("USDC", "🚨")).toBeUndefined();
  expect(named("A", "B", "C", "D", "E")).toBeUndefined();
});
