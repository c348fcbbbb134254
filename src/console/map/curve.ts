import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button } from '../core/parts.js'

/** Values of a slider, on a roughly logarithmic scale; 9999 practically closes a road. */
const STEPS = [0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 9999]

/** Sensitivities of the preset buttons, for the levels 0 to 10. */
export const PRESETS = {
  presetIgnore: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  presetCareful: [0, 0.1, 0.2, 0.5, 1, 2, 5, 20, 100, 1000, 9999],
  presetAvoid: [0, 1, 5, 20, 100, 500, 2000, 9999, 9999, 9999, 9999],
} as const

const PRESET_NAMES = ['presetIgnore', 'presetCareful', 'presetAvoid'] as const

/** Editor of the sensitivity curve of a theme: one slider for each of the eleven levels. */
export function curveEditor(
  theme: string,
  curve: number[],
  onChange: (curve: number[]) => void,
): HTMLElement {
  const values = [...curve]
  const sliders = values.map((value, level) => {
    const output = h('output', {}, short(value))
    const input = h('input', {
      type: 'range',
      min: 0,
      max: STEPS.length - 1,
      step: 1,
      value: String(stepOf(value)),
      'aria-label': `${t('level')} ${level}`,
      'aria-valuetext': String(value),
      oninput: () => {
        values[level] = STEPS[Number(input.value)] ?? 0
        show(level)
      },
      onchange: () => onChange([...values]),
    })
    return { input, output }
  })
  const show = (level: number) => {
    const value = values[level] ?? 0
    const slider = sliders[level]
    if (slider === undefined) return
    slider.output.textContent = short(value)
    slider.input.setAttribute('aria-valuetext', String(value))
  }
  const take = (preset: readonly number[]) => {
    preset.forEach((value, level) => {
      values[level] = value
      const slider = sliders[level]
      if (slider !== undefined) slider.input.value = String(stepOf(value))
      show(level)
    })
    onChange([...values])
  }
  return h(
    'fieldset',
    {},
    h('legend', {}, t('sensitivities', { theme })),
    h(
      'div',
      { class: 'row' },
      PRESET_NAMES.map((name) => button(t(name), () => take(PRESETS[name]), 'small')),
    ),
    h(
      'div',
      { class: 'curve' },
      sliders.map(({ input, output }, level) => h('label', {}, output, input, h('span', {}, String(level)))),
    ),
    h('p', { class: 'soft small' }, t('sensitivityHint')),
  )
}

/** Index of the slider value nearest to `value`. */
function stepOf(value: number): number {
  let nearest = 0
  STEPS.forEach((step, i) => {
    if (Math.abs(step - value) < Math.abs((STEPS[nearest] ?? 0) - value)) nearest = i
  })
  return nearest
}

function short(value: number): string {
  return value >= 1000 && value % 1000 === 0 ? `${value / 1000}k` : String(value)
}
