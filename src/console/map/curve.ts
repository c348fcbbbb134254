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

/**
 * Editor of the sensitivity curve of a theme: one slider for each of the eleven levels.
 *
 * @param onChange called with the new curve; `isLive` while a slider is moved
 */
export function curveEditor(
  theme: string,
  curve: number[],
  onChange: (curve: number[], isLive: boolean) => void,
): HTMLElement {
  const changed = (isLive: boolean) =>
    onChange(
      sliders.map((slider) => slider.value()),
      isLive,
    )
  const sliders = curve.map((value, level) => levelSlider(level, value, changed))
  const take = (preset: readonly number[]) => {
    preset.forEach((value, level) => void sliders[level]?.set(value))
    changed(false)
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
      sliders.map(({ element }) => element),
    ),
    h('p', { class: 'soft small' }, t('sensitivityHint')),
  )
}

/** Slider of one level. Its value is as given until it is moved, also between two steps. */
function levelSlider(level: number, first: number, onChange: (isLive: boolean) => void) {
  let value = first
  const output = h('output', {})
  const input = h('input', {
    type: 'range',
    min: 0,
    max: STEPS.length - 1,
    step: 1,
    'aria-label': `${t('level')} ${level}`,
    oninput: () => {
      show(STEPS[Number(input.value)] ?? 0)
      onChange(true)
    },
    onchange: () => onChange(false),
  })
  const show = (next: number) => {
    value = next
    output.textContent = short(value)
    input.setAttribute('aria-valuetext', String(value))
  }
  const set = (next: number) => {
    input.value = String(stepOf(next))
    show(next)
  }
  set(first)
  return { element: h('label', {}, output, input, h('span', {}, String(level))), value: () => value, set }
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
