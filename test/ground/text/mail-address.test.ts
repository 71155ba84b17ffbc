import { describe, expect, it } from "vitest";
import { isMailAddress, mailDomainOf, parseMailAddress } from "../../../src/ground/text/mail-address.ts";

describe("a mail address", () => {
  it.each([
    "ops@example.com",
    "first.last+alerts@sub.example.co.uk",
    "o'brien_1@example.com",
    "root@localhost",
    "ops@münchen.example",
    "ops@例え.example",
    "ops@xn--mnchen-3ya.example",
    `${"a".repeat(64)}@example.com`,
  ])("%s is one", (text) => {
    expect(isMailAddress(text)).toBe(true);
  });

  it.each([
    ...["", "ops", "@example.com", "ops@", "ops@@example.com", "ops@example.com@evil.example"],
    ...[".ops@example.com", "ops.@example.com", "o..ps@example.com", "ops@example..com", "ops@.example.com"],
    ...["ops@example.com.", "ops@-example.com", "ops@example-.com"],
    ...["ops@127.0.0.1", "ops@1.2", "ops@[127.0.0.1]"],
    ...["ops@exa mple.com", "ops @example.com", " ops@example.com", "ops@example.com "],
    ...["ops@example.com,other@example.com", "ops@example.com;other@example.com"],
    ...["<ops@example.com>", "Ops <ops@example.com>", '"ops"@example.com', '"ops@evil.example"@example.com'],
    ...["ops(comment)@example.com", "ops@example.com(comment)"],
    ...["ops@example.com>\r\nRCPT TO:<other@example.com", "ops@example.com\r\nBcc: other@example.com"],
    ...["ops@example.com\n", "ops\0@example.com", "ops@example.com\0", "ops\u2028@example.com"],
    ...["öps@example.com", "ops@exa\u00admple.com", "ops@exa%2emple.com"],
    ...["ops@example\uFF0Ecom", "ops@example\u3002com", "ops@\uD800.example"],
    ...[`${"a".repeat(65)}@example.com`, `ops@${"a".repeat(64)}.com`],
    `ops@${`${"a".repeat(60)}.`.repeat(5)}com`,
  ])("%j is none", (text) => {
    expect(isMailAddress(text)).toBe(false);
    if (!text.includes("<") && text.trim() === text) expect(parseMailAddress(text)).toBeUndefined();
  });

  it.each([
    ["Tocsin <alerts@example.com>", "Tocsin"],
    ["Zoë's Tocsin <alerts@example.com>", "Zoë's Tocsin"],
    ['"Ops, \\"night\\"" <alerts@example.com>', 'Ops, "night"'],
    ["<alerts@example.com>", undefined],
    [" alerts@example.com ", undefined],
  ])("%s may carry a display name", (text, name) => {
    expect(parseMailAddress(text)).toEqual({ ...(name !== undefined && { name }), address: "alerts@example.com" });
  });

  it.each([
    "Ops, Night <a@example.com>",
    "a@evil.example <a@example.com>",
    "Ops <a@example.com> <b@example.com>",
    "Ops <a@example.com>, b@example.com",
    "Group: a@example.com;",
    "Ops\r\nBcc: b@example.com <a@example.com>",
    "Ops\u202E <a@example.com>",
    'Ops "x <a@example.com>',
    "Ops <a>",
  ])("%j is refused as a sender", (text) => {
    expect(parseMailAddress(text)).toBeUndefined();
  });

  it("gives an international domain as the name that the net knows", () => {
    expect(parseMailAddress("Ops@MÜNCHEN.Example")).toEqual({ address: "Ops@xn--mnchen-3ya.example" });
    expect(mailDomainOf("ops@xn--mnchen-3ya.example")).toBe("xn--mnchen-3ya.example");
  });
});
