/** What a page of metrics holds. */
export interface Exposition {
  /** family → type */
  families: ReadonlyMap<string, string>
  /** value of the sample with exactly these labels */
  sample(name: string, labels: Record<string, string>): number | undefined
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const HELP = new RegExp(`^# HELP (${NAME}) ((?:[^\\\\\n]|\\\\\\\\|\\\\n)*)$`)
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary|untyped)$`)
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)(?: (-?\\d+))?$`)
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/
const VALUE = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]Inf|NaN)$/

/**
 * Reads a page by the grammar of the text format 0.0.4, and refuses everything that it does not allow: a
 * sample before its TYPE, families that are torn apart, a sample twice, histogram buckets that shrink or do
 * not end at their count.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function readExposition(page: string): Exposition {
  if (!page.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, string>()
  const helps = new Set<string>()
  const samples = new Map<string, number>()
  let current = ''
  for (const line of page.slice(0, -1).split('\n')) {
    if (line === '') continue
    if (line.startsWith('#')) {
      current = readComment(line, families, helps, current)
      continue
    }
    const { name, labels, value } = readSample(line)
    const family = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
    if (family !== current) throw new Error(`${name} stands outside its family`)
    if (family !== name && families.get(family) !== 'histogram') throw new Error(`${name}: no histogram`)
    const key = keyOf(name, labels)
    if (samples.has(key)) throw new Error(`${key} stands there twice`)
    if (families.get(family) === 'counter' && !(value >= 0)) throw new Error(`${key}: a counter below zero`)
    samples.set(key, value)
  }
  checkHistograms(families, samples)
  return { families, sample: (name, labels) => samples.get(keyOf(name, labels)) }
}

function readComment(
  line: string,
  families: Map<string, string>,
  helps: Set<string>,
  current: string,
): string {
  const help = HELP.exec(line)
  if (help?.[1] !== undefined) {
    if (helps.has(help[1])) throw new Error(`HELP twice: ${line}`)
    helps.add(help[1])
    return help[1]
  }
  const [, name, type] = TYPE.exec(line) ?? []
  if (name === undefined || type === undefined) throw new Error(`neither HELP nor TYPE: ${line}`)
  if (families.has(name) || (helps.has(name) && name !== current))
    throw new Error(`TYPE twice or late: ${line}`)
  families.set(name, type)
  return name
}

function readSample(line: string): { name: string; labels: Record<string, string>; value: number } {
  const [, name, labelText = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined || value === undefined || !VALUE.test(value)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = labelText; rest !== ''; ) {
    const match = LABEL.exec(rest)
    if (match === null) throw new Error(`no label at ${rest}`)
    const [whole, label = '', text = ''] = match
    if (label in labels) throw new Error(`a label twice: ${line}`)
    labels[label] = text.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) }
}

function checkHistograms(families: ReadonlyMap<string, string>, samples: ReadonlyMap<string, number>): void {
  const ladders = new Map<string, [le: number, count: number][]>()
  for (const [key, value] of samples) {
    const [name, labels] = JSON.parse(key) as [string, [string, string][]]
    const family = name.replace(/_bucket$/, '')
    if (!name.endsWith('_bucket') || families.get(family) !== 'histogram') continue
    const le = labels.find(([label]) => label === 'le')?.[1]
    if (le === undefined) throw new Error(`${key}: a bucket without le`)
    const rest = Object.fromEntries(labels.filter(([label]) => label !== 'le'))
    const count = keyOf(`${family}_count`, rest)
    ladders.set(count, [...(ladders.get(count) ?? []), [Number(le.replace('Inf', 'Infinity')), value]])
  }
  for (const [count, steps] of ladders) {
    steps.forEach(([le, value], i) => {
      const before = steps[i - 1]
      if (before !== undefined && (before[0] >= le || before[1] > value))
        throw new Error(`${count}: buckets shrink`)
    })
    if (steps.at(-1)?.[0] !== Number.POSITIVE_INFINITY || steps.at(-1)?.[1] !== samples.get(count))
      throw new Error(`${count}: the last bucket does not hold all`)
  }
}

function keyOf(name: string, labels: Record<string, string>): string {
  return JSON.stringify([name, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))])
}
