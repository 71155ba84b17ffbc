import { describe, expect, it } from "vitest";
import { createFloodControl, type FloodRequest, vendorLimits } from "../../workshop/chat/flood.ts";

function start(change = {}) {
  let now = 1_000_000;
  const flood = createFloodControl({ ...vendorLimits, ...change }, () => now);
  const request = (chatId: string, action: FloodRequest["action"] = "message"): FloodRequest => ({
    botId: "1",
    chatId,
    isGroup: true,
    action,
  });
  return {
    pass(ms: number) {
      now += ms;
    },
    send(chatId = "-1", action: FloodRequest["action"] = "message") {
      const wait = flood.check(request(chatId, action));
      if (wait === undefined) flood.count(request(chatId, action));
      return wait;
    },
    block: (seconds: number) => flood.block("1", "-1", seconds),
  };
}

describe("flood limits", () => {
  it("take a small burst and then ask to wait", () => {
    const chat = start();
    expect([chat.send(), chat.send(), chat.send()]).toEqual([undefined, undefined, undefined]);
    expect(chat.send()).toBe(3);
    chat.pass(2_999);
    expect(chat.send()).toBe(1);
    chat.pass(1);
    expect(chat.send()).toBeUndefined();
  });

  it("let one message a second and eighteen a minute pass for an hour", () => {
    const chat = start();
    for (let sent = 0; sent < 18 * 60; sent++) {
      expect(chat.send()).toBeUndefined();
      chat.pass(sent % 18 === 17 ? 60_000 - 17 * 1_000 : 1_000);
    }
  });

  it("refuse the twenty-first message of a minute in a group, until the first is a minute old", () => {
    const chat = start();
    for (let sent = 0; sent < 20; sent++) {
      expect(chat.send()).toBeUndefined();
      chat.pass(1_000);
    }
    expect(chat.send()).toBe(40);
    chat.pass(39_000);
    expect(chat.send()).toBe(1);
    chat.pass(1_000);
    expect(chat.send()).toBeUndefined();
  });

  it("count edits by themselves", () => {
    const chat = start({ chatBurst: Number.POSITIVE_INFINITY, botPerSecond: Number.POSITIVE_INFINITY });
    for (let sent = 0; sent < 20; sent++) expect(chat.send()).toBeUndefined();
    for (let sent = 0; sent < 20; sent++) expect(chat.send("-1", "edit")).toBeUndefined();
    expect(chat.send("-1", "edit")).toBe(60);
  });

  it("hold over all chats of a bot", () => {
    const bot = start();
    for (let chat = 0; chat < 30; chat++) expect(bot.send(`-${chat + 10}`)).toBeUndefined();
    expect(bot.send("-99")).toBe(1);
    bot.pass(1_000);
    expect(bot.send("-99")).toBeUndefined();
  });

  it("refuse everything to a chat during a wait, and nothing to others", () => {
    const bot = start();
    bot.block(30);
    bot.pass(10_000);
    expect(bot.send()).toBe(20);
    expect(bot.send("-2")).toBeUndefined();
  });
});
