import type { LoaderTable } from './tables.js'

/** Receives one risk cell: its geometry as WKB, which is valid during the call only, and its level. */
export type CellVisitor = (wkb: Uint8Array, level: number) => void

/** Receives one risk cell with the half-open span it holds for, µs UTC; null for an open end. */
export type TimedCellVisitor = (
  wkb: Uint8Array,
  level: number,
  startUs: bigint | null,
  endUs: bigint | null,
) => void

/** Settings `riskmap`. */
export interface ThemeNames {
  /** theme → data_name, where the two differ */
  readonly themes: Readonly<Record<string, string>>
  readonly levelColumn: string
}

/**
 * Returns the names of the tables that may hold a theme, in the order in which they are tried: the one that
 * `riskmap.themes` gives, else the theme's own name and `riskmap_<theme>`.
 */
export function themeTableNames({ themes }: ThemeNames, theme: string): string[] {
  const named = Object.hasOwn(themes, theme) ? themes[theme] : undefined
  return named === undefined ? [theme, `riskmap_${theme}`] : [named]
}

/** True when a table can hold a theme: its level column is an integer. */
export function holdsLevels(table: LoaderTable, levelColumn: string): boolean {
  const type = table.columnByName.get(levelColumn)?.udtName
  return type === 'int2' || type === 'int4' || type === 'int8'
}

/** Returns the names of the themes that tables hold: each can be asked for. */
export function themesOf(tables: readonly LoaderTable[], { themes, levelColumn }: ThemeNames): string[] {
  const holding = new Set(
    tables.filter((table) => holdsLevels(table, levelColumn)).map(({ dataName }) => dataName),
  )
  const named = Object.entries(themes).filter(([, dataName]) => holding.has(dataName))
  for (const [, dataName] of named) holding.delete(dataName)
  return [...named.map(([theme]) => theme), ...[...holding].map((name) => name.replace(/^riskmap_(?=.)/, ''))]
}

/**
 * Finds the table of a risk map theme.
 *
 * @returns undefined when no table of its names has an integer column of levels
 */
export async function findThemeTable(
  find: (name: string) => Promise<LoaderTable | undefined>,
  names: ThemeNames,
  theme: string,
): Promise<LoaderTable | undefined> {
  for (const name of themeTableNames(names, theme)) {
    const table = await find(name)
    if (table !== undefined && holdsLevels(table, names.levelColumn)) return table
  }
  return undefined
}
