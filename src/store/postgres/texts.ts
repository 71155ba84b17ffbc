/**
 * A text from outside for a column of type `text`, which takes everything but U+0000: that becomes U+FFFD. JSON needs
 * none of it, since `JSON.stringify` escapes the character.
 */
export const toText = (text: string): string => text.replaceAll("\0", "\ufffd");
