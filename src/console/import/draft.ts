import type { ColumnFacts, ColumnKind } from '../../tabular/columns.js'
import type { ImportPlan, PlaceColumns, PlanColumn, TimeColumn } from '../../tabular/plan.js'
import { planWith } from '../../tabular/plan.js'

/** Decisions of the user about the columns of a file so far. */
export interface Draft {
  start: TimeColumn | undefined
  end: TimeColumn | undefined
  place: PlaceColumns | undefined
  readonly names: Map<string, string>
  readonly kinds: Map<string, ColumnKind>
  /** columns that are not imported */
  readonly left: Set<string>
  /** columns of the key, by their names in the file; time and place by those of the table */
  key: Set<string>
}

const FIXED = ['start_datetime', 'end_datetime', 'location']

/** Draft of a proposal. @param key columns by their names in the table */
export function draftOf(plan: ImportPlan, key: readonly string[]): Draft {
  const sourceOf = (name: string) => plan.columns.find((column) => column.name === name)?.source ?? name
  return {
    ...{ start: plan.start, end: plan.end, place: plan.place },
    names: new Map(plan.columns.map(({ source, name }) => [source, name])),
    kinds: new Map(plan.columns.map(({ source, kind }) => [source, kind])),
    left: new Set(),
    key: new Set(key.map((name) => (FIXED.includes(name) ? name : sourceOf(name)))),
  }
}

/** Plan of a draft: all columns but those that are left out. */
export function planOf(draft: Draft, facts: readonly ColumnFacts[]): ImportPlan {
  const columns = columnsOf(draft, facts).filter(({ source }) => !draft.left.has(source))
  return { ...draft, columns }
}

/** Columns that could be imported, as they are named and typed now. */
export function columnsOf(draft: Draft, facts: readonly ColumnFacts[]): PlanColumn[] {
  return planWith(facts, draft).columns.map((column) => ({
    ...column,
    name: draft.names.get(column.source) ?? column.name,
    kind: draft.kinds.get(column.source) ?? column.kind,
  }))
}

/** Columns that can be part of the key: value of the draft → name in the table. */
export function keyChoices(draft: Draft, facts: readonly ColumnFacts[]): Map<string, string> {
  const { columns } = planOf(draft, facts)
  return new Map([
    ...columns
      .filter(({ kind }) => kind !== 'float8' && kind !== 'bool')
      .map(({ source, name }): [string, string] => [source, name]),
    ...(draft.start === undefined ? [] : [['start_datetime', 'start_datetime'] as const]),
    ...(draft.end === undefined ? [] : [['end_datetime', 'end_datetime'] as const]),
    ...(draft.place === undefined ? [] : [['location', 'location'] as const]),
  ])
}

/** Key of a draft, by the names in the table. */
export function keyOf(draft: Draft, facts: readonly ColumnFacts[]): string[] {
  return [...keyChoices(draft, facts)].filter(([value]) => draft.key.has(value)).map(([, name]) => name)
}
