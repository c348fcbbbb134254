import { h } from './core/dom.js'
import { t } from './core/i18n.js'
import { field, select } from './core/parts.js'
import { changeSettings, currentSettings, type Language, type Theme } from './core/settings.js'

/** Choices of the language and the theme. */
export function appearance(): HTMLElement {
  const { language, theme } = currentSettings()
  const languages = select(
    [
      ['en', 'English'],
      ['ja', '日本語'],
    ],
    language,
  )
  languages.name = 'language'
  languages.addEventListener('change', () => changeSettings({ language: languages.value as Language }))
  const themes = select(
    [
      ['system', t('themeSystem')],
      ['light', t('themeLight')],
      ['dark', t('themeDark')],
    ],
    theme,
  )
  themes.name = 'theme'
  themes.addEventListener('change', () => changeSettings({ theme: themes.value as Theme }))
  return h('div', { class: 'stack tight' }, field(t('language'), languages), field(t('theme'), themes))
}
