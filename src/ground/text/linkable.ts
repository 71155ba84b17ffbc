/** Any other address (`javascript:`, `file:`) stays text. */
export function isLinkable(href: string): boolean {
  return href.length <= 2000 && /^(https?|tg):\/\/[^\s\p{Cc}]+$/iu.test(href) && URL.canParse(href);
}
