import { isSameText, type Secret, signText } from "../../core/secret.ts";

/**
 * The lifetime of a picture's address, milliseconds. Some phones load the picture only when somebody opens the notification.
 */
export const pictureLifetimeMs = 24 * 60 * 60 * 1000;

/** The picture that an address shows. */
export interface PictureName {
  alertId: string;
  theme: "light" | "dark";
  /** IANA name of the zone for the times in the picture. */
  timeZone: string;
  /** The tag of the message's destination, see `destinationTag`. Absent in addresses from before there were tags. */
  tag?: string;
}

/**
 * The address of an alert's picture, for vendors that fetch pictures themselves. For a day it opens this one picture to
 * everybody who has the address. All parts are signed with a key derived from the admin token, so a new token ends all
 * addresses.
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

/** Stands in addresses for a destination. The name cannot be read from it. */
export function destinationTag(adminToken: Secret, name: string): string {
  return signText(adminToken, "picture", `destination ${name}`).slice(0, 10);
}

const form =
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9a-z]{1,10})\.(light|dark)\.([\w-]{0,80})(?:\.([\w-]{10}))?\.([\w-]{43})\.png$/;

/**
 * Undefined for an address that was not made here, was changed, or has run out. The signature is always computed and compared,
 * so the time of an answer does not show the fault.
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
