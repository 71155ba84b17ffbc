import { isSameText, type Secret, signText } from "../../core/secret.ts";

/** How long the address of a picture is good for, milliseconds: some phones show a notification when it is opened. */
export const pictureLifetimeMs = 24 * 60 * 60 * 1000;

/** What an address shows. */
export interface PictureName {
  alertId: string;
  theme: "light" | "dark";
  /** IANA name for the times in it. */
  timeZone: string;
  /** The tag of the destination whose message it is in, see `destinationTag`. Absent: an address made before there were tags. */
  tag?: string;
}

/**
 * The address of an alert's picture, for vendors that fetch it by themselves. It opens this one picture and nothing else,
 * to everybody who has it, for a day: all that it says is signed with a key derived from the admin token, so a new token ends
 * all addresses.
 *
 *     /pictures/<alert>.<expiry>.<theme>.<zone>.<tag>.<signature>.png
 */
export function pictureAddress(publicUrl: string, adminToken: Secret, now: number, name: PictureName): string {
  const { alertId, theme, timeZone, tag } = name;
  const expiry = (now + pictureLifetimeMs).toString(36);
  const zone = Buffer.from(timeZone).toString("base64url");
  const text = `${alertId}.${expiry}.${theme}.${zone}${tag === undefined ? "" : `.${tag}`}`;
  return `${publicUrl.replace(/(?<!\/)\/+$/, "")}/pictures/${text}.${signText(adminToken, "picture", text)}.png`;
}

/** A tag in the place of a destination in addresses: nobody can read the name from it. */
export function destinationTag(adminToken: Secret, name: string): string {
  return signText(adminToken, "picture", `destination ${name}`).slice(0, 10);
}

const form =
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9a-z]{1,10})\.(light|dark)\.([\w-]{0,80})(?:\.([\w-]{10}))?\.([\w-]{43})\.png$/;

/**
 * Undefined for one that was not made here, was changed, or has run out. The signature is computed and compared for
 * each, so that the time says nothing of what is wrong.
 */
export function readPictureName(given: string, adminToken: Secret, now: number): PictureName | undefined {
  const [, alertId = "", expiry = "0", theme = "", zone = "", tag, signature = ""] =
    form.exec(given.slice(0, 300)) ?? [];
  const text = `${alertId}.${expiry}.${theme}.${zone}${tag === undefined ? "" : `.${tag}`}`;
  const isOurs = isSameText(signature, signText(adminToken, "picture", text));
  const isInTime = now < Number.parseInt(expiry, 36);
  if (!isOurs || !isInTime) return undefined;
  return {
    alertId,
    theme: theme === "dark" ? "dark" : "light",
    timeZone: Buffer.from(zone, "base64url").toString(),
    tag,
  };
}
