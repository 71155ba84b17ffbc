import { expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createPictures, type PicturesDeps } from "../../src/start/open-pictures.ts";
import { readPictureName } from "../../src/web/access/picture-address.ts";
import { createTestClock } from "../support/test-clock.ts";

const adminToken = new Secret("an-admin-token-of-some-length");
const publicUrl = "https://tocsin.test";
const phone = { name: "phone", timeZone: "UTC" };
const idOf = (n: number) => `0199a3c1-0000-7000-8000-00000000${1_000 + n}`;

function open(changes: Partial<PicturesDeps> = {}) {
  const clock = createTestClock();
  const looked: string[] = [];
  const store = {
    getAlert: async (id: string) => {
      looked.push(id);
      return undefined;
    },
    keyHistory: async () => ({ events: [], hasOlder: false, hasGap: false }),
  };
  const pictures = createPictures({ store, adminToken, publicUrl, clock, destinations: ["phone", "desk"], ...changes });
  return { ...pictures, clock, looked };
}

it("an address names alert and zone, and its picture is drawn before anybody fetches it", async () => {
  const { linkTo, clock, looked, close } = open();
  const address = linkTo(idOf(1), { name: "phone", timeZone: "Europe/Zurich" }) ?? "";
  const name = readPictureName(address.slice(`${publicUrl}/pictures/`.length), adminToken, clock.now());
  expect(name).toMatchObject({ alertId: idOf(1), theme: "light", timeZone: "Europe/Zurich" });
  while (looked.length === 0) await clock.settle();
  expect(looked).toEqual([idOf(1)]);
  await close();
});

it("there is no address where nobody may fetch it", async () => {
  const { linkTo, close } = open({ publicUrl: undefined });
  expect(linkTo(idOf(1), phone)).toBeUndefined();
  await close();
});

it("a flood gets addresses for 20 alerts a minute, each for as many destinations as there are", async () => {
  const { linkTo, clock, close } = open();
  const has = (n: number) => linkTo(idOf(n), phone) !== undefined;
  expect(Array.from({ length: 1_000 }, (_, n) => has(n)).filter(Boolean)).toHaveLength(20);
  expect(has(0)).toBe(true);
  await clock.jump(60_000);
  expect(has(999)).toBe(true);
  await close();
});

it("it is noted whose message has an address, and whose address was fetched, which does not tell the name", async () => {
  const noted: string[] = [];
  const notes = {
    noteLinked: ({ destination }: { destination: string }) => void noted.push(`linked ${destination}`),
    noteFetched: ({ destination, id }: { destination: string; id: string }) =>
      void noted.push(`fetched ${destination} ${id === idOf(1)}`),
  };
  const { linkTo, noteFetched, clock, close } = open({ notes });
  const tags = ["phone", "desk", "elsewhere"].map((name) => {
    const address = linkTo(idOf(1), { name, timeZone: "UTC" }) ?? "";
    expect(address).not.toContain(name);
    return readPictureName(address.slice(`${publicUrl}/pictures/`.length), adminToken, clock.now())?.tag ?? "";
  });
  for (const tag of [...tags, "nobody"]) noteFetched(idOf(1), tag);
  expect(noted).toEqual(["linked phone", "linked desk", "linked elsewhere", "fetched phone true", "fetched desk true"]);
  await close();
});

it("there is none once the relay is being stopped", async () => {
  const { linkTo, close } = open();
  await close();
  expect(linkTo(idOf(1), phone)).toBeUndefined();
});
