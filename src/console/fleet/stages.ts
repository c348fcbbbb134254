import { h } from '../core/dom.js'
import { t, type Word } from '../core/i18n.js'
import { field } from '../core/parts.js'

const MEMBERS: readonly { name: string; word: Word; min: number; max: number; usual: number }[] = [
  { name: 'canary_percent', word: 'canaryPercent', min: 1, max: 100, usual: 100 },
  { name: 'max_trouble', word: 'maxTrouble', min: 0, max: 100_000, usual: 0 },
  { name: 'wait_s', word: 'waitS', min: 0, max: 2_592_000, usual: 0 },
]

/**
 * Inputs of the member `stages` of the profile in a text area: a change of either is seen in the other.
 *
 * @param onChange called when an input has changed the text
 */
export function stagesForm(text: HTMLTextAreaElement, onChange: () => void): HTMLElement {
  const inputs = MEMBERS.map(({ min, max }) => h('input', { type: 'number', min, max, required: true }))
  const read = () => {
    const stages = readObject(text.value)?.stages ?? {}
    MEMBERS.forEach(({ name, usual }, at) => {
      const input = inputs[at]
      if (input !== undefined) input.value = String(Reflect.get(Object(stages), name) ?? usual)
    })
  }
  const write = () => {
    const profile = readObject(text.value)
    if (profile === undefined) return
    const entries = MEMBERS.map(({ name }, at) => [name, Number(inputs[at]?.value)] as const)
    text.value = JSON.stringify({ ...profile, stages: Object.fromEntries(entries) }, null, 2)
    onChange()
  }
  for (const input of inputs) input.addEventListener('change', write)
  text.addEventListener('change', read)
  read()
  return h(
    'fieldset',
    {},
    h('legend', {}, t('stagesTitle')),
    h(
      'div',
      { class: 'grid ends' },
      MEMBERS.map(({ word }, at) => {
        const input = inputs[at]
        return input !== undefined && field(t(word), input)
      }),
    ),
  )
}

/** Reads a JSON object. @returns undefined for another text */
function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return Object.fromEntries(Object.entries(value))
  } catch {
    return undefined // the check tells what is wrong with it
  }
}
