import { call } from '../core/rpc.js'
import { readEvents, type TableInfo } from '../core/tables.js'
import type { GridColumn } from './state.js'

/** Row of a grid. */
export interface GridRow {
  /** values by column, without the geometry */
  readonly values: Readonly<Record<string, unknown>>
  /** GeoJSON; null for none */
  readonly geometry: unknown
}

/** Part of the rows that is asked for. */
export interface RowQuery {
  /** empty for the order of the source */
  readonly sort: string
  readonly conds: object | undefined
  readonly offset: number
  readonly limit: number
}

/** Rows of a table, a dataset or a citation. */
export interface GridSource {
  readonly name: string
  readonly columns: readonly GridColumn[]
  read(query: RowQuery): Promise<GridRow[]>
  /** @throws CallFault */
  count(conds: object | undefined): Promise<number>
  /** path of the rows as a file, without its query */
  readonly exportPath: string
  /** Removes the rows that match; undefined where rows are not removed one by one. @returns their number */
  readonly remove?: (conds: object) => Promise<number>
  /** Opens a form with a row's values; undefined where rows cannot be changed. */
  readonly edit?: (row: GridRow, onSaved: () => void) => void
}

async function countRows(dataset_label: string, condition: object | undefined): Promise<number> {
  return await call<number>('dataset.record.count', { dataset_label, condition: condition ?? {} })
}

/** Rows of a table. */
export function tableSource({ data_name, record_def }: TableInfo, edit: GridSource['edit']): GridSource {
  const columns = Object.entries(record_def)
    .sort(([, a], [, b]) => a.position - b.position)
    .filter(([, { udt_name }]) => udt_name !== 'geometry')
    .map(([name, { udt_name }]) => ({
      name,
      isNumber: /^(int[248]|float[48])$/.test(udt_name),
      isTime: /^timestamp/.test(udt_name),
      isComparable: !/^(file|raster|bytea)$/.test(udt_name),
    }))
  return {
    ...{ name: data_name, columns },
    ...(edit === undefined ? {} : { edit }),
    exportPath: `/api/v1/dataloaderapi/export/${encodeURIComponent(data_name)}`,
    async read({ sort, conds, offset, limit }) {
      const order = sort === '' ? {} : { order: sort }
      const rows = await readEvents({ table: data_name, ...order, conds: conds ?? {}, offset, limit })
      return rows.map(({ geometry, properties }) => ({ geometry, values: properties }))
    },
    count: (conds) => countRows(data_name, conds),
  }
}

/** A column in the result of `dataset.get_columns`. */
export interface DatasetColumn {
  readonly column_name: string
  readonly data_type: string
  readonly nullable: boolean
}

/**
 * Rows of a dataset or a citation.
 *
 * @param columns of `dataset.get_columns`
 * @param edit opens a form for a row; undefined where rows cannot be overwritten
 */
export function labelSource(
  label: string,
  columns: readonly DatasetColumn[],
  { isDataset, edit }: { isDataset: boolean; edit?: GridSource['edit'] },
): GridSource {
  const place = columns.find(({ data_type }) => data_type.startsWith('geometry'))?.column_name
  const shown = columns.filter(({ column_name }) => column_name !== place && !column_name.startsWith('_'))
  return {
    name: label,
    columns: shown.map(({ column_name, data_type }) => ({
      name: column_name,
      isNumber: /^(bigint|int|smallint|double|real|numeric)/.test(data_type),
      isComparable: !/^(json|geometry|bytea|file)/.test(data_type),
    })),
    exportPath: `/api/v2/dataset/export/${encodeURIComponent(label)}`,
    async read({ sort, conds, offset, limit }) {
      const order = sort === '' ? {} : { order: sort }
      const params = { dataset_label: label, condition: conds ?? {}, offset, limit, ...order }
      const rows = await call<Record<string, unknown>[]>('dataset.record.list', params)
      return rows.map((values) => ({
        values,
        geometry: place === undefined ? null : (values[place] ?? null),
      }))
    },
    count: (conds) => countRows(label, conds),
    ...(edit === undefined ? {} : { edit }),
    ...(isDataset
      ? {
          remove: (condition: object) =>
            call<number>('dataset.record.delete', { dataset_name: label, condition }),
        }
      : {}),
  }
}
