/** Comparison of a filter. */
export const OPERATORS = ['=', '<>', '<', '<=', '>', '>=', 'contains', 'empty', 'filled'] as const
export type Operator = (typeof OPERATORS)[number]

/** Condition on one column. */
export interface Filter {
  readonly column: string
  readonly operator: Operator
  /** as it was typed */
  readonly value: string
}

/** View of a grid; it is kept in the address. */
export interface GridState {
  /** a column, `-column` for descending; empty for the order of the source */
  readonly sort: string
  readonly filters: readonly Filter[]
  readonly offset: number
}

/** Column of a grid. */
export interface GridColumn {
  readonly name: string
  readonly isNumber: boolean
  /** its values are times, of which zeros at the end of the fraction are left out */
  readonly isTime?: boolean
  /** it can be sorted and compared */
  readonly isComparable: boolean
}

/** Reads the state from the address: `#/tables/rain?sort=-mm&where=[["mm",">","3"]]&from=100`. */
export function stateOfAddress(hash: string, sort: string): GridState {
  const query = new URLSearchParams(hash.split('?')[1] ?? '')
  const offset = Number(query.get('from') ?? 0)
  return {
    sort: query.get('sort') ?? sort,
    filters: filtersOf(query.get('where')),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  }
}

/** Address of a page with a state. */
export function addressOf(hash: string, { sort, filters, offset }: GridState): string {
  const query = new URLSearchParams()
  if (sort !== '') query.set('sort', sort)
  if (filters.length > 0)
    query.set(
      'where',
      JSON.stringify(filters.map(({ column, operator, value }) => [column, operator, value])),
    )
  if (offset > 0) query.set('from', String(offset))
  const text = query.toString()
  return `${hash.split('?')[0]}${text === '' ? '' : `?${text}`}`
}

function filtersOf(text: string | null): Filter[] {
  let json: unknown
  try {
    json = JSON.parse(text ?? '[]')
  } catch {
    return [] // an address that was cut off shows all rows
  }
  if (!Array.isArray(json)) return []
  return json.flatMap((item) => {
    const [column, name, value] = Array.isArray(item) ? item.map(String) : []
    const operator = OPERATORS.find((each) => each === name)
    return column === undefined || operator === undefined ? [] : [{ column, operator, value: value ?? '' }]
  })
}

/** Condition of filters, as the methods take it; undefined for all rows. */
export function condsOf(filters: readonly Filter[], columns: readonly GridColumn[]): object | undefined {
  const conds = filters.map((filter) => condOf(filter, columns))
  return conds.length === 0 ? undefined : conds.length === 1 ? conds[0] : { and: conds }
}

function condOf({ column, operator, value }: Filter, columns: readonly GridColumn[]): object {
  if (operator === 'empty') return { is_null: [column] }
  if (operator === 'filled') return { not: { is_null: [column] } }
  if (operator === 'contains') return { like: [column, `%${value.replace(/[\\%_]/g, '\\$&')}%`] }
  const isNumber = columns.find(({ name }) => name === column)?.isNumber === true
  // text that is no number is sent as it is: the gateway refuses it with a reason
  const operand = isNumber && value.trim() !== '' && !Number.isNaN(Number(value)) ? Number(value) : value
  return { [operator]: [column, operand] }
}
