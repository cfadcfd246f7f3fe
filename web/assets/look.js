// web/assets/look.js: what all charts share: the page's own colours and type.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Chart.js with the page's type; undefined where it did not load: the table says it all.
export function charts() {
  if (window.Chart) window.Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  return window.Chart;
}

export const grid = () => ({ color: colour("line"), borderColor: colour("strong-line") });
export const ticks = () => ({ color: colour("soft") });
export const legend = () => ({ color: colour("ink"), usePointStyle: true, boxHeight: 6 });
