import { ENCODINGS } from '../../tabular/encoding.js'
import { type FileFault, isFileFault } from '../../tabular/faults.js'
import { ACCEPTED_FILES } from '../../tabular/formats/open.js'
import type { FileChoices } from '../../tabular/row-file.js'
import { SEPARATORS, type SeparatorName } from '../../tabular/separator.js'
import { fill, h } from '../core/dom.js'
import { faultText } from '../core/fault-text.js'
import { fileField } from '../core/file-field.js'
import { t, type Word } from '../core/i18n.js'
import { button, field, select } from '../core/parts.js'
import type { TableInfo } from '../core/tables.js'
import { fileFaultText } from './fault-text.js'
import { type LookedAt, lookAt, type Target } from './look.js'
import { planForm } from './plan-form.js'
import { takeOffered } from './state.js'

/** Form that looks at a file and imports it. */
export interface Importer {
  readonly element: HTMLElement
  close(): void
}

/** @param table that the file is imported into; undefined to make a new one of it */
export function importer(table: TableInfo | undefined): Importer {
  const box = h('div', { class: 'stack' })
  let stop = new AbortController()
  let close: () => void = () => undefined
  const look = async (file: File, choices: FileChoices, others: number) => {
    leave()
    const { signal } = stop
    const again = (next: FileChoices) => void look(file, { ...choices, ...next }, others)
    const progress = readingProgress(file, () => {
      stop.abort()
      fill(box)
    })
    fill(box, progress.element)
    try {
      const target = table === undefined ? undefined : targetOf(table)
      const looked = await lookAt(file, file.name, choices, target, { signal, onShare: progress.show })
      if (signal.aborted) return
      const form = planForm(looked, {
        table,
        parts: choiceFields(looked.file, again),
        others,
        size: file.size,
      })
      close = form.close
      fill(box, form.element)
    } catch (error) {
      if (!signal.aborted) fill(box, refusal(error, choices, again))
    }
  }
  const leave = () => {
    stop.abort()
    stop = new AbortController()
    close()
    close = () => undefined
  }
  const take = (files: readonly File[]) => {
    const [file] = files
    if (file !== undefined) void look(file, {}, files.length - 1)
  }
  // the box is put into the page after this
  queueMicrotask(() => takeOffered({ take, isShown: () => box.isConnected }))
  return {
    element: h('div', { class: 'stack' }, chooser(take), box),
    close() {
      takeOffered(undefined)
      leave()
    },
  }
}

function targetOf({ record_def, unique_columns }: TableInfo): Target {
  const own = Object.entries(record_def).filter(
    ([name]) => !/^(start_datetime|end_datetime|location|geometry)$/.test(name),
  )
  return {
    types: new Map(own.map(([name, { udt_name }]) => [name, udt_name])),
    uniqueColumns: unique_columns,
  }
}

/** Place where files are dropped, or chosen with the keyboard. */
function chooser(take: (files: readonly File[]) => void): HTMLElement {
  const input = h('input', { type: 'file', accept: ACCEPTED_FILES })
  input.addEventListener('change', () => take([...(input.files ?? [])]))
  return h('div', { class: 'card drop-place' }, fileField(t('file'), input, t('importAccepts')))
}

function readingProgress(file: File, cancel: () => void) {
  const bar = h('progress', { max: 1, value: 0, 'aria-label': t('importReading', { name: file.name }) })
  return {
    element: h(
      'div',
      { class: 'card stack tight', role: 'status' },
      h('p', {}, t('importReading', { name: file.name })),
      bar,
      h('div', {}, button(t('cancel'), cancel, 'small')),
    ),
    show: (share: number) => {
      bar.value = share
    },
  }
}

/** Fault of a file, with the choices that may help. */
function refusal(error: unknown, choices: FileChoices, again: (next: FileChoices) => void): HTMLElement {
  const fields = isFileFault(error) ? helpfulFields(error, choices, again) : []
  const text = isFileFault(error) ? fileFaultText(error) : faultText(error)
  return h(
    'div',
    { class: 'stack' },
    h('p', { class: 'notice bad', role: 'alert' }, text),
    fields.length > 0 && h('div', { class: 'grid' }, fields),
  )
}

function helpfulFields(
  { fileFault }: FileFault,
  choices: FileChoices,
  again: (next: FileChoices) => void,
): HTMLElement[] {
  if (fileFault === 'ENCODING' || fileFault === 'NUL') return [encodingField(choices.encoding ?? '', again)]
  return ['SEPARATOR', 'QUOTE', 'CELLS'].includes(fileFault)
    ? [separatorField(choices.separator ?? '', again)]
    : []
}

/** Choices about a file that was read: only those that it has. */
function choiceFields(file: LookedAt['file'], again: (next: FileChoices) => void): HTMLElement[] {
  const { format, encoding = '', separator = '', entry, entries = [], layer, layers = [] } = file
  const list = (label: Word, names: readonly string[], value: string, act: (name: string) => void) => {
    const input = select(
      names.map((name) => [name, name] as const),
      value,
    )
    input.addEventListener('change', () => act(input.value))
    return field(t(label), input)
  }
  return [
    ...(entries.length > 1
      ? [list('importEntry', entries, entry ?? '', (name) => again({ entry: name }))]
      : []),
    ...(layers.length > 1
      ? [list('importLayer', layers, layer ?? '', (name) => again({ layer: name }))]
      : []),
    ...(format === 'csv' ? [separatorField(separator, again), encodingField(encoding, again)] : []),
  ]
}

function encodingField(value: string, again: (next: FileChoices) => void): HTMLElement {
  const blank = value === '' ? [['', t('choose')] as const] : []
  const input = select([...blank, ...ENCODINGS.map((name) => [name, name] as const)], value)
  input.addEventListener('change', () => {
    const encoding = ENCODINGS.find((name) => name === input.value)
    if (encoding !== undefined) again({ encoding })
  })
  return field(t('importEncoding'), input)
}

const SEPARATOR_WORDS: Record<SeparatorName, Word> = {
  comma: 'separatorComma',
  semicolon: 'separatorSemicolon',
  tab: 'separatorTab',
  pipe: 'separatorPipe',
}

function separatorField(value: string, again: (next: FileChoices) => void): HTMLElement {
  const names = Object.keys(SEPARATORS) as SeparatorName[]
  const blank = value === '' ? [['', t('choose')] as const] : []
  const input = select([...blank, ...names.map((name) => [name, t(SEPARATOR_WORDS[name])] as const)], value)
  input.addEventListener('change', () => {
    const separator = names.find((name) => name === input.value)
    if (separator !== undefined) again({ separator })
  })
  return field(t('importSeparator'), input)
}
