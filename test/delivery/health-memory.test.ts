import { describe, expect, it } from "vitest";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import type { DestinationStatus } from "../../src/core/destination-status.ts";
import { silentLog } from "../../src/core/log.ts";
import { HealthMemory } from "../../src/delivery/memory/health.ts";
import { createTestClock } from "../support/test-clock.ts";
import { mailTo, telegramTo } from "./engine-fixture.ts";
import { kicked, refused, refusedRecipient, unauthorized } from "./outcomes.ts";

const chat = telegramTo("chat");
const other = telegramTo("other");

function keep(saved: DestinationStatus[] = []) {
  const written = new Map<string, DestinationStatus>();
  const disk = { isFull: false };
  const clock = createTestClock();
  const memory = new HealthMemory(
    {
      store: {
        async saveStatus(status) {
          if (disk.isFull) throw new Error("full");
          written.set(status.name, status);
          return "done";
        },
      },
      clock,
      settings: defaultDeliverySettings(),
      log: silentLog,
      onChange: () => {},
    },
    saved,
  );
  return { memory, written, disk, clock };
}

describe("what is kept of destinations", () => {
  it("is saved when it says more than that another message has arrived", async () => {
    const { memory, written, clock } = keep();
    memory.observe(chat, { kind: "sent" });
    await memory.save();
    expect(written.get("chat")?.lastSentAt).toBe(clock.now());
    written.clear();
    await clock.advance(1_000);
    memory.observe(chat, { kind: "sent" });
    await memory.save();
    expect(written.size).toBe(0);
    expect(memory.of(chat).lastSentAt).toBe(clock.now());
    memory.observe(chat, refused);
    await memory.save();
    expect(written.get("chat")?.health).toBe("degraded");
  });

  it("is saved of a move and of a notice", async () => {
    const { memory, written } = keep();
    memory.noteMove(chat, "-1", "-1007");
    memory.noteNotice(memory.of(other), { health: "down", at: 1, sent: true, over: false });
    await memory.save();
    expect(written.get("chat")?.moved).toEqual({ from: "-1", to: "-1007" });
    expect(written.get("other")?.notice?.health).toBe("down");
  });

  it("is known at once and saved later when the store refuses", async () => {
    const { memory, written, disk } = keep();
    disk.isFull = true;
    memory.noteMove(chat, "-1", "-1007");
    await expect(memory.save()).rejects.toThrow("full");
    expect(memory.of(chat).moved?.to).toBe("-1007");
    disk.isFull = false;
    await memory.save();
    expect(written.get("chat")?.moved?.to).toBe("-1007");
  });

  it("of an account concerns all that share it", () => {
    const { memory } = keep();
    memory.observe(chat, unauthorized);
    expect(memory.ofAccount(other)?.health).toBe("paused");
    expect(memory.of(chat).health).toBe("ok");
    memory.observe(other, { kind: "sent" });
    expect(memory.ofAccount(chat)?.health).toBe("ok");
  });

  it("keeps a destination and an account of one name apart", () => {
    const namesake = telegramTo("account:telegram:7");
    const { memory } = keep();
    memory.observe(namesake, unauthorized);
    expect(memory.ofAccount(namesake)?.health).toBe("paused");
    expect(memory.of(namesake).health).toBe("ok");
  });

  it("is well after a probe that the first mailbox alone refuses, and the account also after one that it puts off", () => {
    const mail = mailTo("mail", ["gone@x.io", "ops@x.io"]);
    const { memory } = keep();
    const health = () => [memory.ofAccount(mail)?.health, memory.of(mail).health];
    memory.observe(mail, kicked);
    memory.observe(mail, unauthorized);
    expect(health()).toEqual(["paused", "dead"]);
    memory.observeProbe(mail, { kind: "retry", reason: "temporary_refusal", detail: "450 greylisted", waitMs: 60_000 });
    expect(health()).toEqual(["ok", "dead"]);
    memory.observe(mail, unauthorized);
    const busy = { kind: "retry", reason: "temporary_refusal", detail: "454 login", scope: "account" } as const;
    memory.observeProbe(mail, busy);
    expect(health()).toEqual(["paused", "dead"]);
    memory.observeProbe(mail, refusedRecipient);
    expect(health()).toEqual(["ok", "ok"]);
  });

  it("is tried again at the start of a lane, since somebody may have mended it", () => {
    const status = { kind: "destination", name: "chat", reason: "kicked", since: 1, failures: 1 } as const;
    const dead = keep([{ ...status, health: "dead", probeAt: Number.MAX_SAFE_INTEGER }]);
    expect(dead.memory.of(chat).probeAt).toBe(dead.clock.now());
    const down = keep([{ ...status, health: "down", openUntil: Number.MAX_SAFE_INTEGER }]);
    expect(down.memory.of(chat).openUntil).toBe(down.clock.now());
  });
});
