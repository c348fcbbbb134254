const NAME = /^(?!\.{1,2}$)[\p{L}\p{M}\p{Nd}_.-]{1,63}$/u

/** Rule of `isName`, for messages and documentation. */
export const NAME_RULE = '1 to 63 letters, digits or any of _ - . (not . or .. alone)'

/** Returns whether a text may name a dataset, a column or a citation. */
export function isName(text: string): boolean {
  return NAME.test(text)
}
