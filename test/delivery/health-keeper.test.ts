import { describe, expect, it } from "vitest";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import type { DestinationStatus } from "../../src/core/destination-status.ts";
import { silentLog } from "../../src/core/log.ts";
import { createHealthKeeper } from "../../src/delivery/memory/health-keeper.ts";
import { createTestClock } from "../support/test-clock.ts";
import { telegramTo } from "./engine-fixture.ts";
import { refused, unauthorized } from "./outcomes.ts";

const chat = telegramTo("chat");
const other = telegramTo("other");

function keep(saved: DestinationStatus[] = []) {
  const written = new Map<string, DestinationStatus>();
  const disk = { isFull: false };
  const clock = createTestClock();
  const keeper = createHealthKeeper(
    {
      store: {
        async saveStatus(status) {
          if (disk.isFull) throw new Error("full");
          written.set(status.name, status);
        },
      },
      clock,
      settings: defaultDeliverySettings(),
      log: silentLog,
      onChange: () => {},
    },
    saved,
  );
  return { keeper, written, disk, clock };
}

describe("what is kept of destinations", () => {
  it("is saved when it says more than that another message has arrived", async () => {
    const { keeper, written, clock } = keep();
    keeper.observe(chat, { kind: "sent" });
    await keeper.save();
    expect(written.get("chat")?.lastSentAt).toBe(clock.now());
    written.clear();
    await clock.advance(1_000);
    keeper.observe(chat, { kind: "sent" });
    await keeper.save();
    expect(written.size).toBe(0);
    expect(keeper.of(chat).lastSentAt).toBe(clock.now());
    keeper.observe(chat, refused);
    await keeper.save();
    expect(written.get("chat")?.health).toBe("degraded");
  });

  it("is saved of a move and of a notice", async () => {
    const { keeper, written } = keep();
    keeper.noteMove(chat, "-1", "-1007");
    keeper.noteAnnounced("other", { health: "down", at: 1, told: true, over: false });
    await keeper.save();
    expect(written.get("chat")?.moved).toEqual({ from: "-1", to: "-1007" });
    expect(written.get("other")?.announced?.health).toBe("down");
  });

  it("is known at once and saved later when the store refuses", async () => {
    const { keeper, written, disk } = keep();
    disk.isFull = true;
    keeper.noteMove(chat, "-1", "-1007");
    await expect(keeper.save()).rejects.toThrow("full");
    expect(keeper.of(chat).moved?.to).toBe("-1007");
    disk.isFull = false;
    await keeper.save();
    expect(written.get("chat")?.moved?.to).toBe("-1007");
  });

  it("of an account concerns all that share it", () => {
    const { keeper } = keep();
    keeper.observe(chat, unauthorized);
    expect(keeper.ofAccount(other)?.health).toBe("paused");
    expect(keeper.of(chat).health).toBe("ok");
    keeper.observe(other, { kind: "sent" });
    expect(keeper.ofAccount(chat)?.health).toBe("ok");
  });

  it("is looked at again at a start, since somebody may have mended it", () => {
    const status = { name: "chat", reason: "kicked", since: 1, failures: 1 };
    const dead = keep([{ ...status, health: "dead", probeAt: Number.MAX_SAFE_INTEGER }]);
    dead.keeper.probeSoon();
    expect(dead.keeper.of(chat).probeAt).toBe(dead.clock.now());
    const down = keep([{ ...status, health: "down", openUntil: Number.MAX_SAFE_INTEGER }]);
    down.keeper.probeSoon();
    expect(down.keeper.of(chat).openUntil).toBe(down.clock.now());
  });
});
