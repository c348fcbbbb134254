import type { LoaderTable } from './types.js'

/** `riskmap` of the configuration. */
export interface ThemeNames {
  /** theme → data_name, where they differ */
  readonly themes: Readonly<Record<string, string>>
  readonly levelColumn: string
}

/**
 * The table that holds a risk map theme: the one that `riskmap.themes` names, else the table of that name, else
 * `riskmap_<theme>`. A table without an integer column of levels holds no theme.
 */
export function findThemeTable(
  find: (name: string) => LoaderTable | undefined,
  { themes, levelColumn }: ThemeNames,
  theme: string,
): LoaderTable | undefined {
  const named = Object.hasOwn(themes, theme) ? themes[theme] : undefined
  for (const name of named === undefined ? [theme, `riskmap_${theme}`] : [named]) {
    const table = find(name)
    const type = table?.columnByName.get(levelColumn)?.udtName
    if (type === 'int2' || type === 'int4' || type === 'int8') return table
  }
  return undefined
}
