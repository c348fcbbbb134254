import type { EventFeature } from '../../core/tables.js'

/** Colours of tables, and of the values of a column with few. */
const FEW_COLOURS = ['#8a3ffc', '#1192e8', '#d02670', '#198038', '#b28600', '#6929c4', '#005d5d', '#a2191f']
/** Colours of a column of numbers, from low to high. */
const RANGE_COLOURS = ['#414487', '#2a788e', '#22a884', '#7ad151', '#f0d324']
/** Colour of records without a value, and of values beyond the few. */
const OTHER_COLOUR = '#8d9aa1'

export interface Colouring {
  /** rows of the legend */
  readonly legend: readonly { readonly colour: string; readonly text: LegendText }[]
  colourOf(value: unknown): string
}

/** A value, a range of numbers, or the rest. */
type LegendText = { readonly value: string } | { readonly from: number; readonly to: number } | 'others'

/** Colour of a table by its place in the list. */
export function tableColour(index: number): string {
  return FEW_COLOURS[index % FEW_COLOURS.length] ?? OTHER_COLOUR
}

/**
 * Colours for the values of a column: classes of equal width for numbers, the most frequent values for
 * everything else.
 */
export function colouringOf(records: readonly EventFeature[], column: string): Colouring {
  const values = records.map(({ properties }) => properties[column]).filter((value) => value != null)
  if (values.length > 0 && values.every((value) => typeof value === 'number'))
    return byNumber(values as number[])
  return byValue(values.map(String))
}

function byNumber(values: readonly number[]): Colouring {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  if (low === high) return byValue(values.map(String))
  const width = (high - low) / RANGE_COLOURS.length
  return {
    legend: RANGE_COLOURS.map((colour, i) => ({
      colour,
      text: { from: low + width * i, to: low + width * (i + 1) },
    })),
    colourOf(value) {
      if (typeof value !== 'number') return OTHER_COLOUR
      const at = Math.min(RANGE_COLOURS.length - 1, Math.floor((value - low) / width))
      return RANGE_COLOURS[at] ?? OTHER_COLOUR
    },
  }
}

function byValue(values: readonly string[]): Colouring {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  const frequent = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([value]) => value)
  const colours = new Map(
    frequent.slice(0, FEW_COLOURS.length).map((value, i) => [value, FEW_COLOURS[i] ?? OTHER_COLOUR]),
  )
  const legend = [...colours].map(([value, colour]) => ({ colour, text: { value } as LegendText }))
  if (frequent.length > FEW_COLOURS.length) legend.push({ colour: OTHER_COLOUR, text: 'others' })
  return { legend, colourOf: (value) => colours.get(String(value)) ?? OTHER_COLOUR }
}
