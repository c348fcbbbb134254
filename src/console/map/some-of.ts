/** Names that are listed before the rest is asked for. */
export const FEW = 8

/**
 * Names to list: those that contain a text, the chosen ones first and at least `FEW`.
 *
 * @returns the names, and the number of further ones that match
 */
export function someOf(
  names: readonly string[],
  text: string,
  isChosen: (name: string) => boolean,
  isWhole: boolean,
): { shown: string[]; hidden: number } {
  const wanted = text.trim().toLowerCase()
  const matching = names.filter((name) => name.toLowerCase().includes(wanted))
  const chosen = matching.filter(isChosen)
  const others = matching.filter((name) => !isChosen(name))
  if (isWhole) return { shown: matching, hidden: 0 }
  const shown = [...chosen, ...others.slice(0, Math.max(0, FEW - chosen.length))]
  return { shown, hidden: matching.length - shown.length }
}
