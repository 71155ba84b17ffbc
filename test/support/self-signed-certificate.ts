import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

export interface SelfSignedCertificate {
  /** PEM. */
  key: string;
  /** PEM. Names `localhost`, 127.0.0.1 and ::1, and is its own authority, so it can be given as `ca` too. */
  cert: string;
}

/** The tags of DER (X.690). */
const tags = { flag: 1, integer: 2, bits: 3, octets: 4, objectId: 6, utf8: 12, time: 23, sequence: 48, set: 49 };
/** Encoded, since nothing but these is needed. */
const ids = { ecdsaWithSha256: "2a8648ce3d040302", name: "550403", otherNames: "551d11", limits: "551d13" };

function der(tag: number, ...parts: (Buffer | number[])[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
const sequence = (...parts: Buffer[]) => der(tags.sequence, ...parts);
const objectId = (id: string) => der(tags.objectId, Buffer.from(id, "hex"));
/** UTCTime, `YYMMDDHHMMSSZ`: what RFC 5280 asks for until 2049. */
function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return der(tags.time, Buffer.from(digits.slice(2)));
}

/**
 * Makes a certificate for this machine's loopback names, valid from an hour before `now` for a year. Written out in DER
 * (RFC 5280), since node:crypto can read certificates and not make them. Not `selfsigned`: it brings 23 packages and 9 MB
 * to every installation.
 *
 * @param now epoch milliseconds.
 */
export function createSelfSignedCertificate(now: number): SelfSignedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = sequence(objectId(ids.ecdsaWithSha256));
  const name = sequence(der(tags.set, sequence(objectId(ids.name), der(tags.utf8, Buffer.from("localhost")))));
  const yes = der(tags.flag, [0xff]);
  const loopback6 = [...Array<number>(15).fill(0), 1];
  const hosts = [der(0x82, Buffer.from("localhost")), der(0x87, [127, 0, 0, 1]), der(0x87, loopback6)];
  const isAuthority = sequence(objectId(ids.limits), yes, der(tags.octets, sequence(yes)));
  const names = sequence(objectId(ids.otherNames), der(tags.octets, sequence(...hosts)));
  const body = sequence(
    der(0xa0, der(tags.integer, [2])),
    // Positive and of full length.
    der(tags.integer, [0x41], randomBytes(15)),
    algorithm,
    name,
    sequence(time(now - 3_600_000), time(now + 365 * 86_400_000)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(isAuthority, names)),
  );
  const certificate = sequence(body, algorithm, der(tags.bits, [0], sign("sha256", body, privateKey)));
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}
