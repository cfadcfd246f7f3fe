/* agent/workload/cifar10.h: the workload `cifar10`: a convolutional network of the airbench94 kind (arXiv
 * 2404.00498), trained on one device. Recipes: recipe.h. */
#ifndef DAYBREAK_AGENT_WORKLOAD_CIFAR10_H
#define DAYBREAK_AGENT_WORKLOAD_CIFAR10_H

#include "agent/workload/workload.h"

extern const struct workload_ops workload_cifar10;
/* Hidden: the same code on a few images and channels, for tests; takes data files of any contents. */
extern const struct workload_ops workload_cifar10_tiny;

#endif
