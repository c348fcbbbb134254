import type { Column, LoaderTable, TableDefinition } from './tables.js'

/** Columns of a summary for a number column of its source. */
export interface SummaryColumns {
  readonly source: string
  /** values that are not null */
  readonly count: string
  readonly min: string
  readonly mean: string
  readonly max: string
}

/** Column of a summary with the number of rows of an interval. */
export const ROW_COUNT = 'row_count'

const NUMBERS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'float4', 'float8'])

/** Returns the columns of a summary for the number columns of a table; those of the series have none. */
export function summaryColumns(
  { columns }: Pick<LoaderTable, 'columns'>,
  by: readonly string[],
): SummaryColumns[] {
  return columns
    .filter(({ name, udtName, isEncrypted }) => NUMBERS.has(udtName) && !isEncrypted && !by.includes(name))
    .map(({ name }) => ({
      ...{ source: name, count: `${name}_count`, min: `${name}_min` },
      ...{ mean: `${name}_mean`, max: `${name}_max` },
    }))
}

/** Returns the definition of the table that summarises another one by series and interval. */
export function summaryDefinition(
  table: Pick<LoaderTable, 'schema' | 'columns'>,
  dataName: string,
  by: readonly string[],
): TableDefinition {
  const ofSeries = table.columns.filter(({ name }) => by.includes(name))
  const numbers = summaryColumns(table, by).flatMap(({ count, min, mean, max }) => [
    numberColumn(count, 'int8'),
    ...[min, mean, max].map((name) => numberColumn(name, 'float8')),
  ])
  return {
    dataName,
    schema: table.schema,
    columns: [
      ...ofSeries.map((column) => ({ ...column, columnDefault: null })),
      numberColumn(ROW_COUNT, 'int8'),
      ...numbers,
    ],
    uniqueColumns: [...by, 'start_datetime'],
  }
}

function numberColumn(name: string, udtName: 'int8' | 'float8'): Column {
  return {
    ...{ name, udtName, isNullable: true, columnDefault: null, length: null },
    ...{ srid: null, isEncrypted: false, file: null },
  }
}
