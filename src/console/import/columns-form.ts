import { COLUMN_KINDS, type ColumnFacts, textOf } from '../../tabular/columns.js'
import type { PlaceColumns, TimeColumn } from '../../tabular/plan.js'
import type { FileSurvey } from '../../tabular/survey.js'
import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { field, select, table } from '../core/parts.js'
import type { TableInfo } from '../core/tables.js'
import { columnsOf, type Draft } from './draft.js'

type Fixed = TableInfo['record_def'] | undefined

/** Values that are shown as an example of a column, and their longest text. */
const EXAMPLES = 3
const EXAMPLE_CHARS = 40

/**
 * Time and place of the records, and a row for each other column.
 *
 * @param fixed columns of the table, when it exists: names and types are its own
 * @param onChange called after each change
 */
export function columnFields(draft: Draft, survey: FileSurvey, fixed: Fixed, onChange: () => void) {
  const box = h('div')
  const show = () => fill(box, columnTable(draft, survey, fixed, onChange))
  const change = () => {
    show()
    onChange()
  }
  show()
  return {
    element: h(
      'section',
      { class: 'stack' },
      h('h2', {}, t('importColumns')),
      h(
        'div',
        { class: 'grid' },
        timeField('startTime', draft.start, survey.columns, (time) => {
          draft.start = time
          change()
        }),
        timeField('endTime', draft.end, survey.columns, (time) => {
          draft.end = time
          change()
        }),
        placeField(draft.place, survey, (place) => {
          draft.place = place
          change()
        }),
      ),
      box,
    ),
  }
}

function timeField(
  label: 'startTime' | 'endTime',
  now: TimeColumn | undefined,
  facts: readonly ColumnFacts[],
  take: (time: TimeColumn | undefined) => void,
): HTMLElement {
  const times = facts.filter(({ timeForm, source }) => timeForm !== undefined || source === now?.source)
  const input = select(
    [['', t('importNoColumn')], ...times.map(({ source }) => [source, source] as const)],
    now?.source ?? '',
  )
  input.addEventListener('change', () => {
    const found = times.find(({ source }) => source === input.value)
    take(found === undefined ? undefined : { source: found.source, form: found.timeForm ?? 'iso' })
  })
  return field(t(label), input)
}

function placeField(
  found: PlaceColumns | undefined,
  { hasGeometry }: FileSurvey,
  take: (place: PlaceColumns | undefined) => void,
): HTMLElement {
  const input = select(
    [['', t('importNoColumn')], ...(found === undefined ? [] : [['found', placeText(found)] as const])],
    found === undefined ? '' : 'found',
  )
  input.disabled = hasGeometry
  input.addEventListener('change', () => take(input.value === '' ? undefined : found))
  return field(t('geometry'), input)
}

function placeText(place: PlaceColumns): string {
  if (place.kind === 'own') return t('importOwnGeometry')
  return place.kind === 'degrees' ? `${place.lng}, ${place.lat}` : place.source
}

function columnTable(draft: Draft, survey: FileSurvey, fixed: Fixed, onChange: () => void): HTMLElement {
  const columns = columnsOf(draft, survey.columns)
  return table(
    t('importColumns'),
    [t('importUse'), t('importSource'), t('name'), t('type'), t('importExamples')],
    columns.map(({ source, name, kind }) => {
      const use = h('input', {
        type: 'checkbox',
        checked: !draft.left.has(source),
        'aria-label': `${t('importUse')} ${source}`,
      })
      use.addEventListener('change', () => {
        if (use.checked) draft.left.delete(source)
        else draft.left.add(source)
        onChange()
      })
      return [
        use,
        source,
        fixed !== undefined ? name : nameInput(draft, source, name, onChange),
        fixed === undefined ? kindSelect(draft, source, kind, onChange) : (fixed[name]?.udt_name ?? kind),
        examplesOf(source, survey),
      ]
    }),
    t('importNoColumns'),
  )
}

function nameInput(draft: Draft, source: string, name: string, onChange: () => void): HTMLElement {
  const input = h('input', { value: name, required: true, 'aria-label': `${t('name')} ${source}` })
  input.addEventListener('input', () => {
    draft.names.set(source, input.value.trim())
    onChange()
  })
  return input
}

function kindSelect(draft: Draft, source: string, kind: string, onChange: () => void): HTMLElement {
  const input = select(
    COLUMN_KINDS.map((each) => [each, each] as const),
    kind,
  )
  input.setAttribute('aria-label', `${t('type')} ${source}`)
  input.addEventListener('change', () => {
    const chosen = COLUMN_KINDS.find((each) => each === input.value)
    if (chosen !== undefined) draft.kinds.set(source, chosen)
    onChange()
  })
  return input
}

function examplesOf(source: string, { sample }: FileSurvey): string {
  const texts = sample
    .map(({ values }) => values[source])
    .filter((value) => value !== null && value !== undefined && value !== '')
    .map((value) => textOf(value).slice(0, EXAMPLE_CHARS))
  return [...new Set(texts)].slice(0, EXAMPLES).join(' · ')
}
