/* agent/data/cifar10_sets.h: the named sets of images that a trained model can be scored on. Ownership and threads as
 * cifar10.h. */
#ifndef DAYBREAK_AGENT_DATA_CIFAR10_SETS_H
#define DAYBREAK_AGENT_DATA_CIFAR10_SETS_H

#include "agent/data/cifar10.h"

/* V6: CIFAR-10.1, version 6 (Recht, Roelofs, Schmidt and Shankar, arXiv 1902.10811): 2,000 new images, collected as the
 * originals were, seven years later. */
enum cifar10_set {
    CIFAR10_SET_TEST,
    CIFAR10_SET_TUNE,
    CIFAR10_SET_FRESH,
    CIFAR10_SET_V6,
    CIFAR10_SET_COUNT
};

#define CIFAR10_V6_FOLDER "cifar10.1" /* beside the folder of CIFAR-10 */
#define CIFAR10_V6_IMAGES "cifar10.1_v6_data.npy"
#define CIFAR10_V6_LABELS "cifar10.1_v6_labels.npy"

/* The set as test images; there are no training images. dir: the folder of CIFAR-10. ST_NOT_FOUND: its files are not
 * there; ST_INVALID: they are not what they should be. */
enum status cifar10_load_set(const char *dir, enum cifar10_set which, struct cifar10 *set,
                             struct error *err);
/* The same of two arrays of NumPy: images u1 [n,32,32,3], labels [n], 0 to 9. For CIFAR-10.1, and its tests. */
enum status cifar10_load_arrays(struct str images, struct str labels, struct cifar10 *set,
                                struct error *err);

#endif
