/** Whether an address becomes a link. Others (`javascript:`, `file:`) stay text. */
export function isLinkable(href: string): boolean {
  return href.length <= 2000 && /^(https?|tg):\/\/[^\s\p{Cc}]+$/iu.test(href) && URL.canParse(href);
}
